"""Print the Python blocks of the README, so that what users copy is what CI runs.

Blocks marked ``python cli`` need that extra: tests/test_estimators.py runs them.
"""

import pathlib
import re

text = (pathlib.Path(__file__).parent.parent / "README.md").read_text()
blocks = re.findall(r"```python\n(.*?)```", text, re.S)
if not blocks:
    raise SystemExit("README.md has no Python example")
print("\n".join(blocks))
