"""``python -m jaxopt_svm``."""

import sys

from jaxopt_svm.cli import main

if __name__ == "__main__":
    sys.exit(main())
