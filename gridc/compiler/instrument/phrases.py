"""What responses say before and behind an option: that it is the answer, that it is none, or neither.

Responses can be degenerate ("Answer: " a thousand times), so no pattern may backtrack over a run of
characters: the unbounded repetitions are possessive. What is made of these phrases is `extract`'s.
"""

import re

from gridc.compiler.instrument.mentions import GLUED

_DRESS = r"(?:[\s*_`~\"'(\[{$<>:,#=]|\\[A-Za-z]++|\\[\[(])*+"
CLOSE = r"[\s*_`~\"')\]}$>]*+"
_NOUN = (
    r"(?:answers?|(?:right|correct|best|true)\s++one|choice|option|selection|verdict|conclusion|classification|"
    r"label|judge?ment|prediction|pick|solution|selected|chosen|winner|rating|grade|decision|category|tl;?dr|respuesta|opción|elección|réponse|choix|antwort|richtig|wahl|lösung|resposta|"
    r"alternativa|escolha|risposta|antwoord|odpowiedź|svaret|cevap|đáp\s+án|ответ|답|정답|옳은\s?것|맞는\s?것|答案|答え|正解|正しいの|选择|選擇|"
    r"正[确確]的(?:选项|選項|答案)?|उत्तर|الإجابة|الجواب|إجابة|الخيار)"
)
_ASIDE = (
    r"(?:_\w{1,12}|,?\s{1,3}(?:letter|choice|option|here|then|therefore|overall|correcta?|correcte|final|"
    r"exacte|juste|correta|certa|الصحيحة?|to\s{1,3}(?:this|the)(?:\s{1,3}question)?|for\s{1,3}(?:this|the)\s{1,3}question|"
    r"in\s{1,3}my\s{1,3}(?:view|opinion)|would|i\s{1,3}(?:would\s{1,3})?(?:choose|pick|select|give)),?)"
)
_IS = (
    r"(?:'s\b|(?:is|är|là|be|would\s++be|should\s++be|must\s++be|has\s++to\s++be|seems\s++to\s++be|"
    r"appears\s++to\s++be|remains|es|est|ist|è|é|sería)(?![^\W_])|应该是|应为|應該是|只有|是|为|為|は|은|는|هي|هو|है|[:=]|-*+>|-(?=\s))"
)
FILLER = re.compile(
    r"(?:(?:therefore|thus|clearly|definitely|probably|likely|most|simply|just|actually|indeed|still|now|hence|"
    r"then|either|both|option|choice|letter|number|opción|opção|opzione|buchstabe|letra|"
    r"lettre|the|la|le|el|die|der|das|(?:first|second|third|fourth|fifth|last|former|latter)(?:\s++one)?)\b"
    r"[\s*_`\"'(\[{$<>:,#~=]*+|(?:选项|選項|選択肢|선택지)\s*+|الخيار\s++)",
    re.IGNORECASE,
)
_SAID = (
    r"\b(?:i|we)(?:'d|'ll|\s++would|\s++will|\s++am|'m|\s++must)?\s++(?:have\s++to\s++|going\s++to\s++)?"
    r"(?:(?:now|still|then|therefore|also|instead|\w++ly)\s++)?"
    r"(?:choose|pick|select|say|vote\s++for|opt\s++for|go\s++with|go\s++for|going\s++with|settle\s++on|answer|"
    r"(?:lean|leaning|inclined)\s++towards?)\b|"
    r"(?:^|[.!?\n]\s{0,3})(?:choos(?:e|ing)|pick(?:ing)?|select(?:ing)?|go(?:ing)?\s++with)\b|\bich\s++(?:wähle|nehme|entscheide\s++mich\s++für)\b|\bje\s++(?:choisis|prends)\b|"
    r"\b(?:elijo|escojo|me\s++quedo\s++con|escolho|"
    r"scelgo|direi|ik\s++kies|wybieram|jag\s++väljer)\b|\b(?:confident\s++in|my\s++money\s++is\s++on|bet(?:ting)?\s++on)\b|(?:أختار|اخترت)|[选選][择擇]?"
)
_ITS = (
    r"(?:(?:(?:it|that|this|which)(?:'s|\s++(?:is|was|must\s++be|should\s++be|has\s++to\s++be))|c'est|"
    r"(?:es|das)\s++ist|es\s++(?:la|el)|è\s++la|é\s++a)\b)"
)

MARKER = re.compile(
    rf"(?:(?:(?<!{GLUED})|(?<=[فوبل])){_NOUN}{_ASIDE}{{0,3}}[\"'*_`\])}}]*+\s*+{_IS}|<(?:final_?)?answer>|\\boxed\b|{_SAID}|"
    rf"(?:^|\n)[#*_ ]*+(?:final\s++|my\s++)?{_NOUN}[*_ ]*+\n|सही\s++(?:उत्तर|विकल्प)\s++)"
    rf"{_DRESS}",
    re.IGNORECASE,
)
CORRECTION = re.compile(
    r"\b(?:actually|correction|on\s++second\s++thoughts?|on\s++reflection|rather|no|nope|wait|sorry|oops|"
    r"i\s++mean|i\s++meant|make\s++(?:that|it)|instead|but)\b[\s,:.;!-]*+"
    rf"(?:(?:{_ITS}|i\s++mean|make\s++that)[\s,:]*+)?{_DRESS}",
    re.IGNORECASE,
)
_SO = (
    r"(?:\b(?:therefore|thus|hence|so|leaves|leaving|left\s++with|finally|donc|also|somit|daher|folglich|portanto|"
    r"logo|luego|por\s++(?:lo\s++)?tanto|así\s++que)\b|因此|所以|故|よって|したがって|따라서|그러므로|لذلك|إذن)"
)
CONCLUSION = re.compile(rf"(?:{_SO}[\s,:]*+{_ITS}?|\b{_ITS}){_DRESS}", re.IGNORECASE)
NAMED_AS = re.compile(rf"\b(?:option|choice|letter|answer)\b[\s,:]*+{_ITS}?{_DRESS}", re.IGNORECASE)
ABOUT = re.compile(
    r"\b(?:for|about|of|regarding|concerning|like|such\s++as|with)\s++(?:option\s++)?[\s*_`\"'(\[]*+",
    re.IGNORECASE,
)
FAVOURS = re.compile(
    r"\b(?:(?<!not\s)only|match(?:es)?|fits?|points?\s++(?:to|at)|corresponds?\s++to|consistent\s++with|supports?|"
    rf"suggests?|indicates?|implies|confirms?)\b{_DRESS}",
    re.IGNORECASE,
)
FAVOURED = re.compile(
    r"[\s*_`~\"')\]}$>]*+(?:best\s++|alone\s++|is\s++what\s++)?(?:fits|matches|follows|holds|wins|"
    r"is\s++(?:well\s++|best\s++|clearly\s++|directly\s++)?(?:supported|stated|confirmed|consistent))\b",
    re.IGNORECASE,
)
_PEOPLE = (
    r"(?:some(?:one|body)?|many|most|others?|another|people|person|critics?|supporters?|s[kc]eptics?|students?|they|he|she|"
    r"any(?:one|body)|one|friends?|teachers?|textbooks?|colleagues?|boss|ministers?|spokes\w++|neighbou?rs?|doctors?|lawyers?|"
    r"users?|clients?|customers?|reviewers?|experts?|economists?|scientists?|parents?|mother|father|brother|sister|wife|"
    r"husband|majority|public|opponents?)"
)
_HOLD = (
    r"(?:says?|said|thinks?|thought|claim(?:s|ed)?|argue[sd]?|believe[sd]?|answer(?:s|ed)?|pick(?:s|ed)?|chooses?|chose|"
    r"prefer(?:s|red)?|suggest(?:s|ed)?|favou?r(?:s|ed)?|guess(?:es|ed)?|votes?\s++for)"
)
ATTRIBUTION = re.compile(
    rf"\b(?:another|others)\b{_DRESS}|\b{_PEOPLE}\b,?(?:\s++(?!(?:but|so|i|we|should|must|{_HOLD})\b)[\w',]++){{0,9}}\s++{_HOLD}\b"
    rf"(?:\s++that\b)?\s*+(?:(?:the\s++)?{_NOUN}{_ASIDE}{{0,3}}\s*+{_IS}|{_ITS}|(?:of|about)\b)?{_DRESS}",
    re.IGNORECASE,
)
ATTRIBUTED = re.compile(rf"{CLOSE}is\s++what\s++(?:\w++\s++){{1,3}}{_HOLD}\b", re.IGNORECASE)
SENTENCES = re.compile(r"[.!?]['\")\]*_]*+\s++|[.!?](?=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])|\n++")
CONTRAST = re.compile(r"\b(?:but|yet|however|though|nevertheless|still)\b,?", re.IGNORECASE)
IF = re.compile(r"\b(?:if|unless|whether|wenn|falls|si|se|ob)\b", re.IGNORECASE)
CLOSES = re.compile(
    r"\b(?:so|thus|therefore|hence|overall|ultimately|finally|on\s++balance|in\s++the\s++end|all\s++in\s++all|"
    r"(?:i|we)(?:'d|'ll|\s++would|\s++will|\s++have\s++to|\s++must)|to\s++me|my\s++(?:\w++\s++)?(?:answer|pick|choice|guess|"
    r"view|vote|verdict|opinion|judge?ment|assessment|call)|must|has\s++to|should|most|best|clearly|"
    r"verdict|conclusion|answer|it(?:'s|\s++is)|"
    r"also|somit|daher|demnach|folglich|donc|ainsi|portanto|logo|entonces|por\s++tanto|así\s++que|quindi|dunque|perciò|"
    r"значит|поэтому|следовательно|итак)\b|因此|所以|よって|したがって|ゆえに|따라서|그러므로|لذلك|इसलिए|अतः",
    re.IGNORECASE,
)
MAY = re.compile(rf"{CLOSE}(?:can|could|might|may|would|does|do)(?:n't|not)?\b", re.IGNORECASE)
COLON = re.compile(rf"(?::|=|->|>){_DRESS}\Z")
COLON_OR_MAKES = re.compile(
    rf"(?:(?::|=|->|>)|\b(?:makes\s++(?:this|it|that)|this\s++is|that\s++is)\b(?:\s++(?:an?|the)\b)?){_DRESS}\Z",
    re.IGNORECASE,
)
IS_LAST = re.compile(rf"\b(?:is|means)\b{_DRESS}\Z", re.IGNORECASE)
AFTERWARDS = re.compile(
    r"[\s,*_]*+(?:then|it\s++is|i\s++(?:guess|suppose|think)|i'd\s++say|for\s++me|to\s++me)?[^\w]*+\Z",
    re.IGNORECASE,
)
RETRACTS = re.compile(
    r"\b(?:hang\s++on|scratch\s++that|(?:oh,?\s++)?wait[,.!:]|hmm+|on\s++second\s++thoughts?|on\s++reflection|correct\s++myself|"
    r"let\s++me\s++(?:correct|reconsider|switch|revise|re-?check)|i\s++(?:misread|miscounted|misremembered|overlooked|"
    r"stand\s++corrected|take\s++(?:that|it)\s++back|was\s++wrong|changed?\s++my)|(?:updating|changing|revising)\s++(?:my|the)|"
    r"come\s++round|except\s++that)\b|(?:^|\n)\s*+(?:edit|correction|update)\b",
    re.IGNORECASE,
)
TAKES_BACK = re.compile(
    r"(?:^|[.!?\n])\s*+(?:no|nope|wait|actually|correction|scratch\s++that|on\s++reflection|on\s++second\s++thoughts?|hmm)\b[\s,:.!-]*+",
    re.IGNORECASE,
)
ABSTAINS = re.compile(
    r"\b(?:(?:rather\s++not|won't|will\s++not|can't|cannot|unable\s++to|refuse\s++to|declines?\s++to|not\s++going\s++to|do\s++not|"
    r"don't|hard\s++to|impossible\s++to|difficult\s++to)\s++(?:\w++\s++)?(?:say|choose|pick|decide|tell|determine|answer|select|judge|take\s++a\s++side)|"
    r"(?:no|without\s++a)\s++(?:preference|opinion|view|stance|clear\s++(?:answer|winner|choice))|depends|up\s++to\s++you|"
    r"your\s++(?:call|choice|decision)|either\s++(?:one\s++|of\s++them\s++)?(?:could|would|may|might|works|is)|"
    r"both\s++(?:are|have|seem|could|may|options)|you\s++(?:decide|choose))\b",
    re.IGNORECASE,
)
_THINKS = r"(?:think|believe|agree|suppose|feel|expect|guess|say|pick|choose|select|answer)"
DENIAL = re.compile(
    rf"(?:(?:\b(?:wrong|incorrect|false|worst|least\s++likely)\s++(?:{_NOUN}|ones?){_ASIDE}{{0,3}}\s*+{_IS})|"
    rf"(?:(?:\bnot|n't|\bnever|\bcannot)\s++{_THINKS}|\bdoubt|\bunlikely|\b(?:wrong|tempt(?:ing|ed)|(?:error|mistake))"
    rf"\s++to\s++{_THINKS})(?:\s++that\b)?\s*+(?:(?:the\s++)?{_NOUN}{_ASIDE}{{0,3}}\s*+{_IS}|{_ITS})?){_DRESS}|"
    r"(?:\bnot|n't|\bneither|\bnor|\bnever|\bif|\bwhether|\bunless|\bexcept|\bthan|\bbetween|\brules?\s++out|"
    r"\b(?:choose|pick|prefer|select|take)\b[^.!?\n]{1,12}\bover|\bruled\s++out|\brejects?|\beliminates?|\bexcludes?|\binstead\s++of|\brather\s++than)\b"
    rf"(?:\s++(?:be|just|only|answer|pick|choose|select|say|go\s++with)\b)*+{_DRESS}",
    re.IGNORECASE,
)
RIGHT = re.compile(
    rf"{CLOSE}(?:(?::|-++>?|=)\s*+(?:correct|right|true)\b|是正确)|{CLOSE}is(?:\s++(?:clearly|definitely|likely|probably|most|the))*+\s++"
    r"(?:(?:only|most|single|likely)\s++)*+(?:correct|right|true|best|likeliest|answer|my\s++(?:\w++\s++)?(?:answer|choice|pick|guess)|one|pick|(?:best\s++|better\s++)?choice|"
    r"(?<=most\s)(?:likely|plausible|probable|fitting|suitable|accurate|appropriate|reasonable|convincing))\b|"
    rf"{CLOSE}is\s++(?:clearly\s++)?the\s++\w++\s++(?:one|answer|choice|option)\b|"
    rf"{CLOSE}it\s++(?:is|must\s++be)\b|{CLOSE}is\s++what\s++i(?:'d|\s++(?:would|choose|pick|go))\b|"
    rf"{CLOSE}(?:ist|est|es|é|è|está)\s++(?:(?:die|la|le|el|a|o)\s++)?(?:richtig|korrekt|corre[ct]|certa|juste|exacte|bonne)\w*+|"
    rf"{CLOSE}(?:项|選項|选项)?(?:是|为|為)?(?:正[确確]|[对對]的)|{CLOSE}が(?:正解|正しい|答え|最も適切|適切)|"
    rf"{CLOSE}(?:가|이)\s?(?:정답|맞|옳|답)|{CLOSE}(?:를|을)\s?선택|{CLOSE}を選",
    re.IGNORECASE,
)
RIGHT_TEXT = re.compile(
    rf"{CLOSE}(?:is\s++(?:\w++\s++)?the\s++(?:most\s++(?:likely|plausible|probable|fitting|suitable|accurate|appropriate)|"
    r"best|better|right|correct|likeliest)\b|it\s++(?:is|must\s++be)\b|is\s++what\s++i(?:'d|\s++(?:would|choose|pick|go))\b|"
    r"is\s++my\s++(?:\w++\s++)?(?:answer|choice|pick|guess)\b|を選|が(?:正解|正しい))",
    re.IGNORECASE,
)
WRONG = re.compile(
    rf"{CLOSE}(?:,|:|-++>?|=)?\s*+(?:"
    r"(?:is|are|was|were|can|could|seems?|looks?|does|would)(?:\s++be)?(?:n't|\s++not|\s++never)\b|cannot\b|"
    r"(?:(?:is|are|was|were|seems?|looks?|would|be|as|being|both|all|also|a|an|the|clearly|simply|just|likely|"
    r"probably|therefore|thus)\s++){0,5}+(?:wrong|incorrect|false|implausible|impossible|unlikely|excluded|eliminated|"
    r"ruled\s++out|out\b|mistaken?|inaccurate|trap|misconception|distractor|myth)\b|"
    r"(?:ist|est|es|é|è)\s++(?:nicht|falsch|fausse|faux|falsa|falso|incorrect|incorret|errad)|n'est\s++pas|no\s++es\b|não\s++é\b|"
    r"(?:项|选项|選項)?(?:是)?(?:不正?[确確对對是]|[错錯])|(?:は|も)?(?:間違|誤|正しくな|不適切|違)|"
    r"(?:는|은|가|이|도)?\s?(?:틀|오답|아니|아닙|맞지\s?않|옳지\s?않))",
    re.IGNORECASE,
)
SINGULAR = re.compile(r"\b(?:is|was|isn't|seems|looks|does)\b", re.IGNORECASE)
NONE = re.compile(
    rf"(?:^|[.!?:;,\n]|\b(?:so|hence|thus|therefore|but|is|it's)\b|{_NOUN}\s*+{_IS})[\s*_`\"'(\[{{$]*+"
    r"(?:neither|none|both|all)(?:\s++of\s++(?:them|these|those|(?:the\s++)?(?:above|two|options|answers|choices)))?"
    r"(?:\s++(?:is|are)\s++(?:right|correct|true|wrong|incorrect|false))?[\s*_`\"')\]}$.!]*+\Z",
    re.IGNORECASE,
)
OPENING = re.compile(
    r"(?:[\s*_`~\"'(\[$<>:,#=|]|-\s)*+(?:(?:option|choice|letter)\b[\s*_`~\"'(\[]*+)?", re.IGNORECASE
)
BEGINS = re.compile(
    rf"\A\s*+(?:hmm+[\s.,]*+)?(?:(?:probably|most\s++likely|likely|perhaps|maybe|looks\s++like|"
    rf"i(?:'d)?\s++(?:think|guess|suspect|believe|say)(?:\s++that)?)[\s,:]*+{_ITS}?|{_ITS}){_DRESS}",
    re.IGNORECASE,
)
STOPS = re.compile(rf"{CLOSE}(?:[.,;:!?\n\\|(]|-\s|--|$)|\n")
ASKED = re.compile(rf"{CLOSE}\?")
REASON = re.compile(rf"{CLOSE},?\s*+(?:because|since|as|for|given|due)\b", re.IGNORECASE)
NEXT_LINE = re.compile(r"\n\s*+(?=\S)")
ALONE = re.compile(r"[\s*_`~\"')\]}$>.:]{0,8}?(?:\n|\Z)")
ENDS = re.compile(r"[\s*_`~\"')\]}$>.,:;!|\\-]*+\Z")
ALTERNATIVE = re.compile(
    r"[\s,*_`\"'(){}\[\]$]*+(?:and/or|or|oder|ou|或|还是|/|\|)\s*+(?:maybe|possibly|perhaps|even|else|option|the)?"
    r"[\s*_`\"'({\[$]*+",
    re.IGNORECASE,
)
ADDITION = re.compile(
    r"[*_`\"')}\]$]*+[ \t]*+(?:,?\s*+(?:and|und|et|y|和|以及|&|\+)|[,;])?[ \t]*+(?:option\b)?"
    r"[ \t*_`\"'({\[$]*+",
    re.IGNORECASE,
)
BEFORE_HEAD = re.compile(
    r"([.,;!?\n)-])\s*+(?:(?:option|choice|letter|answer)\s++)?[\s*_`\"'(\[{]*+\Z", re.IGNORECASE
)
