"""Texts of 58 kinds, made from a seed: what tools return, what they should not, and what breaks tokenizers.

A kind is a piece, and a text is pieces until it is long enough. What is fitted on some kinds is checked on
the others.
"""

from __future__ import annotations

import base64
import json
import re
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_VOCABULARY = (
    "the a of and to in is for with that on server request returns value user config failed token cache index page list"
    " should update when no response error timeout while reading connection from client and please check whether this"
    " release fixes issue after upgrading database migration parser schema field optional default authentication header"
    " unexpected behaviour performance regression documentation example deprecated workaround reproducible environment"
)
WORDS = _VOCABULARY.split()
EMOJI = "😀😂🥲🚀🔥✅❌⚠️🎉💡🐍📦🔒👍🏽👩‍💻🇩🇪❤️🧪"

# A letter says what, a number how much: words, a WORD, digits, hexadecimals, base64 of bytes, a moment, emoji.
BLANK = re.compile(r"«([wWdxbte])(\d*)»")
TEMPLATES = {
    "python": (
        "def «w1»_«w1»(self, «w1»: int = «d2») -> dict[str, Any]:\n"
        '    """«w6»."""\n    if len(self._«w1») > «d3»:\n        raise ValueError(f"«w4»: {self.«w1»!r}")\n'
        "    return {k: v for k, v in self.«w1».items() if k != '«w1»'}\n\n\n"
    ),
    "javascript": (
        "export async function «w1»(«w1»Id) {\n"
        "  const res = await this.«w1».fetch(`/api/${«w1»Id}/«w1»`, { method: 'POST' });\n"
        "  return res?.data ?? [];\n}\n"
    ),
    "minified": "function t(e,n){return e.«w1»?n[«d2»]:void 0}var r=t(«d1»,«d3»),o=new «w1»(r.«w1»);",
    "c": "#define «W1»_«W1» 0x«x8»UL /* «w5» */\nextern int «w1»_«w1»(const char *s, size_t n);\n",
    "shell": 'if [ -n "${«W1»}" ]; then\n  ./run --«w1»=«d2» | grep -v "^#«w1»" >> out.log\nfi\n',
    "sql": "INSERT INTO «w1»s (id, «w1», created) VALUES («d6», '«w3»', '«t»');\n",
    "css": ".«w1»-«d2» > li:hover { margin: 0 «d2»px; color: #«x6»; }\n",
    "log": "«t» INFO  [worker-«d2»] com.acme.«w1» - «w5» id=«x16» took «d4»ms\n«t» ERROR [main] «w9»\n",
    "access log": '10.«d2».«d2».«d2» - - [«t»] "GET /«w1»/«x6» HTTP/1.1" 200 «d5» "-" "Mozilla/5.0 (X11; Linux)"\n',
    "traceback": (
        'Traceback (most recent call last):\n  File "/srv/app/«w1».py", line «d3», in «w1»\n    «w4»\n'
        '  File "/srv/lib/«w1»/«w1».py", line «d3», in «w1»_«w1»\n    «w4»\nValueError: «w5»\n\n'
    ),
    "html": '<div class="«w1»-card col-md-«d1»"><h2>«w4»</h2><p>«w12» <a href="/«w1»?page=«d2»">«w3»</a></p></div>\n',
    "xml": '  <entry id="«d6»" lang="en"><name>«w2»</name><count>«d2».«d4»</count></entry>\n',
    "yaml": "- name: «w2»\n  enabled: true\n  ports: [«d4», «d4»]\n  image: acme/«w1»:«x7»\n",
    "csv": '«d6»,"«w3»",0.«d6»,2026-01-«d2»,«x8»,\n',
    "table": "| «d4» | «w3» | `«w1»` | «t» |\n",
    "markdown": "## «w3»\n\n«w40».\n\n- **«w1»**: «w9» ([#«d3»](https://example.com/«d4»))\n- `«w1»`: «w6»\n\n",
    "diff": "@@ -«d3»,9 +«d3»,9 @@ def «w1»():\n     «w5»\n-        «w7»\n+        «w6»\n+            «w2»\n \n",
    "prose": "«w30». «w9», «w12»! ",
    "base64": "«b120»",
    "base64 lines": "«b57»\n",
    "hex": "«x64»",
    "uuids": "«x8»-«x4»-«x4»-«x4»-«x12»\n",
    "digits": "«d30»",
    "jwt": "«b27».«b90».«b33»\n",
    "emoji": "«e1» «w5» «e3»\n",
    "urls": "https://cdn.example.com/«w1»/«x12».jpg?w=«d4»&sig=«b30»\n",
    "special tokens": "«w3»<|endoftext|>«w2» <|im_start|>«w1»\n<|fim_prefix|>«w1»<|endofprompt|>",
}
SENTENCES = {
    "german": "Der Server antwortet nicht. Die Größe überschreitet das zulässige Maß; bitte Einstellungen prüfen.",
    "french": "Le délai d'attente a été dépassé. Où se trouve l'élément sélectionné ? Veuillez réessayer plus tard.",
    "russian": "Сервер временно недоступен. Проверьте настройки подключения и повторите попытку позже, пожалуйста.",
    "greek": "Ο διακομιστής δεν αποκρίνεται. Ελέγξτε τις ρυθμίσεις και δοκιμάστε ξανά αργότερα.",  # noqa: RUF001 - Greek
    "chinese": "服务器暂时无法处理该请求。请检查网络连接，然后重新提交订单；如果问题仍然存在，请联系管理员。",  # noqa: RUF001 - Chinese
    "chinese bare": "服务器暂时无法处理该请求请检查网络连接然后重新提交订单如果问题仍然存在请联系管理员我们会尽快回复",
    "japanese": "サーバーは現在利用できません。設定を確認して、もう一度お試しください。ファイルが見つかりません。",
    "korean": "서버가 응답하지 않습니다. 네트워크 연결을 확인한 후 다시 시도해 주세요. 파일을 찾을 수 없습니다.",
    "arabic": "الخادم غير متاح حاليا. يرجى التحقق من الإعدادات ثم المحاولة مرة أخرى لاحقا، شكرا لك.",
    "hebrew": "השרת אינו זמין כעת. נא לבדוק את ההגדרות ולנסות שוב מאוחר יותר.",
    "hindi": "सर्वर अभी उपलब्ध नहीं है। कृपया सेटिंग्स जाँचें और बाद में फिर से प्रयास करें।",
    "thai": "เซิร์ฟเวอร์ไม่พร้อมใช้งานในขณะนี้ กรุณาตรวจสอบการตั้งค่าแล้วลองใหม่อีกครั้ง",
    "vietnamese": "Máy chủ hiện không khả dụng. Vui lòng kiểm tra cài đặt và thử lại sau.",
}


def filled(template: str) -> Callable[[Random], str]:
    """Return a kind that fills a template's blanks."""
    return lambda rng: BLANK.sub(lambda blank: fill(blank[1], int(blank[2] or 1), rng), template)


def fill(what: str, size: int, rng: Random) -> str:
    """Write what one blank asks for."""
    if what in "wW":
        chosen = " ".join(rng.choices(WORDS, k=size))
        return chosen if what == "w" else chosen.upper()
    if what == "t":
        return f"2026-{rng.randint(10, 12)}-{rng.randint(10, 28)}T08:{rng.randint(10, 59)}:{rng.randint(10, 59)}Z"
    if what == "b":
        return base64.b64encode(rng.randbytes(size)).decode()
    return "".join(rng.choices({"d": "0123456789", "x": "0123456789abcdef", "e": EMOJI}[what], k=size))


def shuffled(sentence: str) -> Callable[[Random], str]:
    """Return a kind that begins and ends its sentence anywhere, so that no two texts are alike."""
    space = " " if " " in sentence else ""
    return lambda rng: sentence[rng.randrange(len(sentence)) :] + space + sentence[: rng.randrange(len(sentence))]


def dumped(make: Callable[[Random], Any], **options: Any) -> Callable[[Random], str]:
    """Return a kind that writes made data as JSON with the standard library's options."""
    return lambda rng: json.dumps(make(rng), **options) + "\n"


def text_of(template: str, rng: Random) -> str:
    return filled(template)(rng)


def issue(rng: Random) -> dict[str, Any]:
    user = {"login": rng.choice(WORDS), "id": rng.randrange(10**8), "node_id": text_of("«b15»", rng), "admin": False}
    return {
        "number": rng.randrange(9999),
        "title": text_of("«w7»", rng),
        "url": text_of("https://api.example.com/repos/acme/widget/issues/«d4»", rng),
        "user": user,
        "labels": [{"name": rng.choice(WORDS), "color": text_of("«x6»", rng)} for _ in range(rng.randrange(3))],
        "created_at": text_of("«t»", rng),
        "assignee": None,
        "body": text_of(f"«w{rng.randrange(1, 60)}»", rng),
    }


def pod(rng: Random) -> dict[str, Any]:
    limits = {"cpu": f"{rng.randrange(2000)}m", "memory": f"{rng.randrange(4096)}Mi"}
    container = {"name": "main", "image": text_of("shop/«w1»:«x7»", rng), "resources": {"limits": limits}}
    metadata = {"name": text_of("«w1»-«x9»-«x5»", rng), "uid": text_of("«x8»-«x4»-«x12»", rng), "managedFields": []}
    return {
        "metadata": metadata,
        "spec": {"containers": [container], "nodeName": text_of("node-«d2»", rng)},
        "status": {"phase": "Running", "podIP": text_of("10.0.«d2».«d2»", rng), "startTime": text_of("«t»", rng)},
    }


def point(rng: Random) -> dict[str, Any]:
    return {"t": 1_790_000_000 + rng.randrange(10**7), "v": round(rng.random() * 100, rng.randrange(1, 9)), "ok": True}


def columns(rng: Random) -> str:
    return f"{rng.choice(WORDS):<30}{rng.randrange(10**6):>14}   {text_of('«w2»', rng):<40}{rng.random():8.3f}\n"


def combining(rng: Random) -> str:
    return "".join(rng.choice("aeiounAEO") + rng.choice("\u0301\u0308\u0327\u200d\ufe0f") for _ in range(6)) + " "


def contractions(rng: Random) -> str:
    return rng.choice(WORDS) + rng.choice("'\u2019") + rng.choice(("s", "t", "RE", "ve", "M", "ll", "D", "x")) + " I'm "


def spaces(rng: Random) -> str:
    return rng.choice((" ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u2003")) * rng.randint(1, 40) + rng.choice(
        "ab;/1"
    )


def rules(rng: Random) -> str:
    return rng.choice("-=*#~_/.") * rng.randint(3, 120) + rng.choice(("\n", " ", "\n\n")) + rng.choice(WORDS) + "\n"


def any_character(rng: Random) -> str:
    return chr(rng.choice((rng.randrange(0xD800), rng.randrange(0xE000, 0x110000))))


def surrogates(rng: Random) -> str:
    return rng.choice(WORDS) + chr(rng.randrange(0xD800, 0xE000)) + rng.choice(("", " ", "\ud83d\ude00"))


def mixed(rng: Random) -> str:
    return rng.choice(
        ("«w60»\n" * 2, "«b400»\n", TEMPLATES["log"] * 3, TEMPLATES["html"], json.dumps(pod(rng), indent=2))
    )


KINDS: dict[str, Callable[[Random], str]] = {
    "issues": dumped(issue),
    "issues indented": dumped(issue, indent=2),
    "issues compact": dumped(issue, separators=(",", ":")),
    "issues in a string": lambda rng: json.dumps({"type": "text", "text": json.dumps(issue(rng), indent=2)}),
    "pods": dumped(pod, indent=4),
    "pods compact": dumped(pod, separators=(",", ":")),
    "points": dumped(point, separators=(",", ":")),
    "numbers": dumped(lambda rng: [rng.gauss(0, 1) for _ in range(8)]),
    **{name: filled(template) for name, template in TEMPLATES.items()},
    **{name: shuffled(sentence) for name, sentence in SENTENCES.items()},
    "escaped chinese": dumped(lambda rng: {"id": rng.randrange(999), "text": shuffled(SENTENCES["chinese"])(rng)}),
    "columns": columns,
    "combining": combining,
    "contractions": contractions,
    "white space": spaces,
    "rules": rules,
    "control characters": lambda rng: "".join(chr(rng.randrange(160)) for _ in range(30)),
    "any character": any_character,
    "lone surrogates": surrogates,
    "mixed": lambda rng: text_of(mixed(rng), rng),
}
# Noise is for breaking counters, not for teaching them.
_NOISE = {"any character", "control characters", "combining", "lone surrogates", "white space", "rules"}
OPAQUE = ("base64", "hex", "digits")
FITTED = tuple(kind for kind in tuple(KINDS)[::2] if kind not in {*_NOISE, *OPAQUE})
CHECKED = tuple(kind for kind in KINDS if kind not in FITTED)


def make(kind: str, seed: int, size: int) -> str:
    """Make a text of a kind with at least so many characters, the same for the same seed."""
    rng = Random(f"{kind}/{seed}")  # noqa: S311 - nobody's secret
    pieces: list[str] = []
    length = 0
    while length < size:
        pieces.append(KINDS[kind](rng))
        length += len(pieces[-1])
    return "".join(pieces)
