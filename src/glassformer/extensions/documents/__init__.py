"""Documents in and out: their text is translated, and their layout and inline markup are kept.

formats    what can be opened, by the ending of a file's name; `encodings` decodes files of text
office     Word, PowerPoint, OpenDocument: `paragraphs` as markup; `packed` opens their zips
epub       electronic books: their pages, which are HTML
subtitles  SubRip and WebVTT: sentences over several `cues`
catalogues messages of programs: `po`, `xliff`, `xml_messages`, `apple_strings`, `json_messages`;
           placeholders and `access_keys` are set aside; an `xml_file` stays but for its messages
declared   the languages that a file says it has
apart      a document in a process with limits, for the server
markup     HTML as runs of text; `placing` puts their tags around the words aligned with theirs
translating  a whole document with one model
"""

ADDS = {"translate_file": "cli.documents.translate_file"}
