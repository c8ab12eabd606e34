"""Letters of other alphabets that look like Latin ones."""

LOOKALIKES = {
    "a": "ɑαаᎪᗅᴀꓮ𐊠𖽀",
    "b": "ƅβвьᏏᏴᑲᖯᗷꓐꞵ𐊂𐊡𐌁",
    "c": "сᏟᴄⲥꓚ𐊢𐌂𐐽𐔜𑣩𑣲",
    "d": "đɗԁᎠᏧᑯᗞᗪᴅꓒꓓ",
    "e": "εеҽᎬⴹꓰꬲ𐊆𑣆𑣎",
    "f": "ϝքᖴẝꓝꞙꬵ𐊇𐊥𐔥𑣂",
    "g": "ƍɡɢԍցᏀᏳᶃꓖ",
    "h": "ηнһհᎻᏂᕼⲏꓧ𐋏",
    "i": "ıǀɩɪιіӏ۱ᎥᏞᒪᛁⲓⳑⵏꓡꓲꙇ𐊊𐌉𐌠𐑃𐔦𑣃𑣒𖼖𖼨",
    "j": "ʝϳјᎫᒍꓙ",
    "k": "κкᏦᛕⲕꓗ𐔘",
    "m": "μϻмᎷᗰᛖⲙꓟ𐊰𐌑",
    "n": "ոռⲛꓠ𐔓",
    "o": "οσоօ۵०০੦૦ଠ୦௦౦೦ഠ൦๐໐ဝ၀ჿዐᴏᴑⲟⵔ〇ꓳꬽ𐊒𐊫𐐬𐓪𐔖𑓐𑣈𑣕𑣗𑣠",
    "p": "ρрᏢᑭⲣꓑ𐊕",
    "q": "ԛգզⵕ",
    "r": "ʀгᎡᎱᏒᖇᴦⲅꓣꭇꭈ𐓜𖼵",
    "s": "ƽѕտᏕᏚꓢꜱ𐊖𐑈𑣁𖼺",
    "t": "τтᎢⲧꓔ𐊗𐊱𐌕𖼊",
    "u": "ʋսሀᑌᴜꓴꞟꭎꭒ𐓶𑣘𖽂",
    "v": "νѵ۷Ꮩᐯᴠⴸꓦꛟ𐔝𑜆𑣀𖼈",
    "w": "ɯѡԝաᎳᏔᴡꓪ𑜊𑜎𑜏𑣦𑣯",
    "x": "χхᕁᕽᚷⲭⵝꓫꭓ𐊐𐊴𐌗𐌢𐔧𑣬",
    "y": "ɣʏγυуүყᎩᎽᶌỿⲩꓬꭚ𐊲𑣜𖽃",
    "z": "ζᏃᴢꓜ𐋵𑣄𑣉𑣥",
}
"""Letters after NFKD and case folding, with those that Unicode lists as easily taken for them (UTS 39)."""

LATIN = {ord(other): letter for letter, others in LOOKALIKES.items() for other in others}
"""The Latin letter that each of them is taken for."""
