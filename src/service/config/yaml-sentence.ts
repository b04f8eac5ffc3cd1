import type { ErrorCode } from 'yaml'

const quotes = 'A quotation mark, a comma, a colon or a bracket is missing here or before it.'
const names = 'Write a name (&name) once before a value, and refer to it (*name) elsewhere.'
const oneLine =
  'Here a line of the form `name: value` is wanted; put the name on one line, and a space after its colon.'

const unexpected = `This sign is not expected here; a quotation mark or bracket before it may be missing. Within brackets and braces a variable stands in quotation marks: '\${NAME}'.`

/** What to do where a file is no YAML; the library's sentences speak of its grammar. */
const sentences: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: names,
  BAD_ALIAS: names,
  BAD_COLLECTION_TYPE: 'A tag (!…) does not fit what follows it; leave it out.',
  BAD_DIRECTIVE: 'A line that begins with % is none of a configuration; leave it out.',
  BAD_DQ_ESCAPE: 'A backslash within "…" begins a sign that there is not; write \\\\ for a backslash, or use \'…\'.',
  BAD_INDENT:
    'The line is set in differently from those beside it; use the same number of spaces for all of a list or map.',
  BAD_PROP_ORDER: names,
  BAD_SCALAR_START: 'A value that begins with this sign has to stand in quotation marks.',
  BLOCK_AS_IMPLICIT_KEY: 'Two settings stand on one line; begin a new line, set in further, after the first colon.',
  BLOCK_IN_FLOW: 'A list with dashes cannot stand within brackets; write [a, b] there.',
  DUPLICATE_KEY: 'This setting stands here twice; keep one of them.',
  IMPOSSIBLE: quotes,
  KEY_OVER_1024_CHARS: oneLine,
  MISSING_CHAR: quotes,
  MULTILINE_IMPLICIT_KEY: oneLine,
  MULTIPLE_ANCHORS: names,
  MULTIPLE_DOCS: 'A line of three dashes begins a second file within this one; leave one.',
  MULTIPLE_TAGS: 'Leave the tags (!…) out.',
  NON_STRING_KEY: oneLine,
  RESOURCE_EXHAUSTION: 'Lists or maps stand too deep within each other.',
  TAB_AS_INDENT: 'A tab stands before this setting; set it in with spaces.',
  TAG_RESOLVE_FAILED: 'There is no such tag (!…); leave it out.',
  UNEXPECTED_TOKEN: unexpected,
}

export const yamlSentence = (code: ErrorCode): string =>
  Object.hasOwn(sentences, code) ? sentences[code] : 'This is no YAML.'
