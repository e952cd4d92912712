"""Formulas as they are typed in docstrings, made readable: text to MathML, words left as words.

    theta = min_i p_i lam gamma / (c_i v_i + lam gamma),  ||w||^2 <= 1,  phi*(-alpha_i),  <x_i, w>

A line is cut at its spaces into words and bits of mathematics (a bit ends where its brackets are
closed), so that long formulas wrap like text. What is not understood is shown as it was typed.
"""

import re
from html import escape

__all__ = ["inline", "lines"]

GREEK = dict(
    zip(
        "alpha beta gamma delta eps epsilon eta theta kappa lam lambda mu nu xi pi rho sigma tau "
        "phi chi psi omega Phi Psi Delta Omega".split(),
        "αβγδεεηθκλλμνξπρστφχψωΦΨΔΩ",
    )
) | {"abar": "ᾱ", "grad": "∇"}
UPRIGHT = frozenset("min max inf sup argmin argmax ln log exp E Var diag rank".split())
SIGNS = {"<=": "≤", ">=": "≥", "->": "→", "<-": "←", "+-": "±", "-": "−", "~": "∼"}
SIGNS |= {"<<": "≪", ">>": "≫", "!=": "≠"}
KNOWN = frozenset(GREEK) | UPRIGHT | {"sum", "sqrt", "prod"}
OPEN, CLOSE = "([{⟨", ")]}⟩"
TOKEN = re.compile(
    r"\s+|\d[\d,]*\d(?:\.\d+)?(?:e[+-]?\d+)?|\d+(?:\.\d+)?(?:e[+-]?\d+)?|[A-Za-z]+\d*"
    r"|<=|>=|->|<-|\+-|<<|>>|!=|\.\.\.|."
)
WORD = re.compile(r"^[\"'(]*[A-Za-z][A-Za-z'-]+[\"')]*[,.;:?!]*$")
TAIL = re.compile(r"(?:(?<=[\w)])-[a-z]{4,})?[,.;:]*$")
NAME = re.compile(
    r"[\w/]+\.py|``[\w.]+``|`[^`]+`|[A-Za-z]{3,}(?:_[a-z0-9]{2,})+|\w+(?:/\w{3,})+\.\w+"
)


def is_word(chunk: str) -> bool:
    """Whether a chunk between spaces is prose."""
    bare = chunk.strip("\"'(),.;:?!")
    if bare in KNOWN or re.fullmatch(r"\(?[A-Za-z]'[,.;:)]*", chunk):
        return False
    return bool(WORD.match(chunk))


def is_code(chunk: str) -> bool:
    """Whether a chunk is a file or a name of the package; theta_i and lam_max are not."""
    bare = chunk.strip("(),.;:")
    return bool(NAME.fullmatch(bare)) and bare.split("_")[0] not in KNOWN


def _hung(base: str, low: str, high: str) -> str:
    """A base with its scripts."""
    if low and high:
        return f"<msubsup>{base}<mrow>{low}</mrow><mrow>{high}</mrow></msubsup>"
    if low:
        return f"<msub>{base}<mrow>{low}</mrow></msub>"
    return f"<msup>{base}<mrow>{high}</mrow></msup>" if high else base


class _Parser:
    """Tokens of one bit to MathML, by descent; nothing is refused."""

    def __init__(self, text: str):
        self.tokens, self.at = TOKEN.findall(text), 0

    def peek(self, ahead: int = 0) -> str:
        k = self.at + ahead
        return self.tokens[k] if k < len(self.tokens) else ""

    def take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def row(self, until: str = "") -> str:
        parts = []
        while self.at < len(self.tokens) and self.peek() != until:
            parts.append(self.fraction())
        return "".join(parts)

    def fraction(self) -> str:
        above, bare = self.scripted()
        k = 1 + self.peek(1).isspace() if self.peek() == "/" else 0
        if not k and self.peek().isspace() and self.peek(1) == "/":
            k = 2 + self.peek(2).isspace()
        follows = self.peek(k)
        if not (above and k and (follows.isalnum() or follows == "(")):
            return above
        self.at += k
        below, bare_below = self.scripted()
        if bare is None and bare_below is None:
            return f"{above}<mo>/</mo>{below}"
        return f"<mfrac><mrow>{bare or above}</mrow><mrow>{bare_below or below}</mrow></mfrac>"

    def scripted(self) -> tuple[str, str | None]:
        """An atom with what hangs on it, and the inside if it is nothing but brackets.

        Brackets right behind a letter are its argument: R(0)/G is no multiple of 0/G.
        """
        base, inside = self.atom()
        low, high, letter = "", "", base.startswith("<mi")
        while self.peek():
            sign, after = self.peek(), self.peek(1)
            ends = not after or after.isspace() or after in ")]},;:(_^*⟩=/‖|"
            if sign == "_" and not low:
                self.take()
                low = self.script()
            elif sign == "^":
                self.take()
                high += self.script()
            elif sign == "'" and base.startswith(("<mi", "<mrow", "<msub")):
                self.take()
                base = f'<mrow>{base}<mo lspace="0" rspace="0">′</mo></mrow>'
            elif sign in "*+" and ends and base.startswith(("<mi", "<mrow", "<msub")):
                self.take()
                high += "<mo>∗</mo>" if sign == "*" else "<mo>+</mo>"
            elif sign in "([" and letter:
                base = f"<mrow>{_hung(base, low, high)}{self.atom()[0]}</mrow>"
                low, high, inside = "", "", None
            else:
                break
        return _hung(base, low, high), None if low or high else inside

    def script(self) -> str:
        if self.peek() in ("{", "("):
            close = "}" if self.take() == "{" else ")"
            inside = self.row(close)
            self.at += 1
            return inside
        sign = f"<mo>{SIGNS.get(s := self.take(), escape(s))}</mo>" if self.peek() == "-" else ""
        return sign + (self.atom()[0] if self.peek() else "")

    def atom(self) -> tuple[str, str | None]:
        token = self.take()
        if token.isspace():
            return '<mspace width="0.25em"/>', None
        if token[0].isdigit():
            return f"<mn>{token}</mn>", None
        if token == "sqrt" and self.peek() == "(":
            return f"<msqrt>{self.script()}</msqrt>", None
        if token in ("sum", "prod"):
            return f"<mo>{'∑' if token == 'sum' else '∏'}</mo>", None
        if token in GREEK:
            return f"<mi>{GREEK[token]}</mi>", None
        if token in UPRIGHT:
            return f'<mi mathvariant="normal">{token}</mi>', None
        if (letters := token.rstrip("0123456789")) in GREEK:
            return f"<msub><mi>{GREEK[letters]}</mi><mn>{token[len(letters) :]}</mn></msub>", None
        if token[0].isalpha():
            return (f"<mi>{token}</mi>" if len(token) < 3 else f"<mtext>{token}</mtext>"), None
        if token in OPEN and CLOSE[OPEN.index(token)] in self.tokens[self.at :]:
            close = CLOSE[OPEN.index(token)]
            inside = self.row(close)
            if self.at >= len(self.tokens):
                return f"<mo>{token}</mo>{inside}", None
            self.take()
            form = "<mo>" if "<mfrac>" in inside else '<mo stretchy="false">'
            whole = f"<mrow>{form}{token}</mo>{inside}{form}{close}</mo></mrow>"
            return whole, inside if token == "(" else None
        if token in "‖|" and token in self.tokens[self.at :]:
            inside = self.row(token)
            close = self.take() if self.at < len(self.tokens) else ""
            form = '<mo stretchy="false">'
            return f"<mrow>{form}{token}</mo>{inside}{form}{close}</mo></mrow>", None
        if token in OPEN + CLOSE + "‖|":
            return f'<mo stretchy="false">{token}</mo>', None
        return f"<mo>{SIGNS.get(token, escape(token))}</mo>", None


def _prepare(text: str) -> str:
    """Norms and inner products get brackets of their own."""
    text = re.sub(r"<([^<>=\s-][^<>=]*,[^<>=]*)>", r"⟨\1⟩", text)
    return text.replace("||", "‖")


def _bits(text: str) -> list[tuple[str, str]]:
    """(kind, chunk) with kind word, code or math; brackets stay in one chunk."""
    bits, held, depth = [], "", 0
    for chunk in _prepare(text).split(" "):
        prose = is_word(chunk)
        if depth == 0 and prose:
            bits.append(("word", chunk))
            continue
        if depth == 0 and is_code(chunk):
            bits.append(("code", chunk))
            continue
        held = f"{held} {chunk}" if held else chunk
        depth += sum(chunk.count(c) for c in OPEN) - sum(chunk.count(c) for c in CLOSE)
        depth += 0 if chunk.count("‖") % 2 == 0 else (1 if held.count("‖") % 2 else -1)
        if depth <= 0:
            bits.append(("math", held))
            held, depth = "", 0
    return bits + [("math", held)] * bool(held)


def _articles(bits: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """A lone "a" or "A" before a word is an article, and so is a bracketed remark."""
    fixed = []
    for k, (kind, chunk) in enumerate(bits):
        article = chunk in ("a", "A", "I") and bits[k + 1 : k + 2] and bits[k + 1][0] == "word"
        words = [is_word(part) for part in chunk.split(" ")]
        remark = len(words) > 1 and sum(words) * 2 > len(words)
        fixed.append(("word", chunk) if kind == "math" and (article or remark) else (kind, chunk))
    return fixed


def inline(text: str) -> str:
    """A line of words and formulas as html."""
    parts = []
    for kind, chunk in _articles(_bits(text)):
        if kind == "math" and chunk:
            # (1/gamma)-smooth: the word behind the hyphen is one
            tail = "" if len(chunk) == 1 else TAIL.search(chunk)[0]  # pyright: ignore
            body = chunk[: len(chunk) - len(tail)]
            math = f"<math>{_Parser(body).row()}</math>{escape(tail)}" if body else tail
            parts.append(f'<span class="nb">{math}</span>' if body and tail else math)
        elif kind == "code":
            bare = chunk.strip("(),.;:")
            before, after = chunk.split(bare, 1)
            parts.append(f"{before}<code>{escape(bare.strip('`'))}</code>{after}")
        else:
            parts.append(escape(chunk.replace("⟨", "<").replace("⟩", ">").replace("‖", "||")))
    return " ".join(parts)


def lines(block: str) -> str:
    """Lines of a docstring that stand apart, one under the other; wide spaces become columns."""
    shown = []
    for line in block.splitlines():
        if line.strip():
            indent = (len(line) - len(line.lstrip())) // 2
            pieces = re.split(r"\s{2,}", line.strip())
            cells = "".join(f"<span>{inline(piece)}</span>" for piece in pieces)
            shown.append(f'<div style="padding-left:{indent}em">{cells}</div>')
    return f'<div class="formula" tabindex="0">{"".join(shown)}</div>'
