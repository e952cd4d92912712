"""Print the first Python block of the README, so that what users copy is what CI runs."""

import pathlib
import re

text = (pathlib.Path(__file__).parent.parent / "README.md").read_text()
match = re.search(r"```python\n(.*?)```", text, re.S)
if match is None:
    raise SystemExit("README.md has no Python example")
print(match.group(1))
