import { shown, type Threat } from './threat.ts'

/** Threats to operations that accept files, relay calls, or return keys and metrics (D). */
export const doorThreats: readonly Threat[] = [
  {
    id: 'D1',
    threat: 'forms with too many parts, endless names, or file names that are paths',
    answer: '400 that names the error; a file’s name is never used as a path',
    shownBy: [
      shown(
        'service/form-attacks.test.ts',
        'D1: more parts than a form may have is refused, and the field named',
        'D1: a part with the name of an object’s built-in member is not one',
        'D1: a file called …',
      ),
      shown('service/http/body/parse-form.test.ts', 'D1: no bytes make it throw'),
    ],
  },
  {
    id: 'D2',
    threat:
      'documents that decompress to hundreds of megabytes, alone or as files of one chat, take hours to parse, or name local files',
    answer:
      'parsed on a thread with limits of time, memory and text, which all files of a chat share, in one pass; nothing in them is run or fetched',
    shownBy: [
      shown(
        'service/text-parser.test.ts',
        '§15 D2: a Word document that unfolds to 300 MB is refused, and costs nothing',
        'D2 §15 a ZIP whose directory lies about its sizes is measured all the same',
      ),
      shown(
        'service/form-attacks.test.ts',
        'D2: tags without end are read in one pass',
        'D2: tags with spaces between them are read in one pass',
      ),
      shown('service/chat-named-media.test.ts', 'D2: files of one request that …'),
    ],
  },
  {
    id: 'D3',
    threat: 'another account’s key, and a deleted key',
    answer: 'the same answer as for a key that does not exist; a deleted key is refused at once, at every process',
    shownBy: [
      shown(
        'service/accounts/keys.test.ts',
        "D3: another account's key is never seen, changed or ended",
        'D3: a key that is deleted',
      ),
    ],
  },
  {
    id: 'D4',
    threat: 'a secret from the configuration in an error, a log or the output of `--check`',
    answer: 'it appears in none, and a plain-text secret is an error',
    shownBy: [
      shown(
        'cli/serve/serve.test.ts',
        'D4: what a variable gives is in nothing that --check says, whether the file is whole or not',
      ),
      shown(
        'service/config/read-config.test.ts',
        'D4: a literal key is told with its place',
        'D4: a secret that is too short, without showing it is told with its place',
      ),
    ],
  },
  {
    id: 'D5',
    threat: 'metrics read without permission',
    answer: '401, and guessing is blocked; a public address needs a token; metrics name no caller',
    shownBy: [
      shown('service/form-attacks.test.ts', 'D5: guessing the token of figures is blocked, and no other key is one'),
      shown(
        'service/upstreams.test.ts',
        'D5: are served to callers with the token',
        'D5: are not served unless configured',
        'D5: tell of requests, upstreams, ledger and holds, and of no caller',
      ),
      shown('service/config/read-config.test.ts', 'D5: an address of figures that others reach needs a token'),
    ],
  },
  {
    id: 'D6',
    threat: 'headers that are copied into a trace',
    answer: 'an upstream gets a valid traceparent, or none',
    shownBy: [
      shown('service/upstream-attacks.test.ts', 'D6: a trace hands on nothing of a state that is not text'),
      shown('service/upstreams.test.ts', 'D6: goes on to the upstream under a span of its own, with the request’s id'),
    ],
  },
  {
    id: 'D7',
    threat: 'a node’s methods for administration, keys and memory, by name, in a batch or in another spelling',
    answer: '400; only listed methods reach the node, under ids that the service chose',
    shownBy: [
      shown(
        'service/crypto-rpc.test.ts',
        '§14 D7: a method of the node’s administration is refused, reaches no node and costs nothing',
        '§14 D7: one bad method in a batch is refused, reaches no node and costs nothing',
        '§14 D7: a batch in a batch is refused, reaches no node and costs nothing',
      ),
      shown(
        'engines/chain/json-rpc-node.test.ts',
        'D7: calls go out under ids of our own, and results come in the order of the calls',
      ),
    ],
  },
  {
    id: 'D8',
    threat: 'pages, search results and characters that contain instructions',
    answer: 'each is one line of JSON that its text cannot end; a character’s instructions are never shown',
    shownBy: [
      shown('service/chat-web.test.ts', 'D8: untrusted text neither ends nor begins a line of what the model reads'),
      shown('service/characters.test.ts', 'D8: shows all of it but its instructions'),
    ],
  },
  {
    id: 'D9',
    threat: 'a key’s limit under a misspelled name, which would have no effect',
    answer: '400 that suggests the right name; no key is created',
    shownBy: [shown('service/accounts/keys.test.ts', 'D9: no misspelled period…')],
  },
  {
    id: 'D10',
    threat: 'one account that fills a thread’s queue or the media queue, and pages with thousands of nested elements',
    answer:
      'accounts take turns, each has a share of the queue, and none occupies every process; such a page is refused before it is parsed',
    shownBy: [
      shown(
        'host/workers/slots.test.ts',
        'one account never has all the slots, so another begins at once',
        'accounts take turns, even if one came first with many tasks',
        'an account has a share of the line, which is full for it alone',
      ),
      shown(
        'host/workers/task-thread.test.ts',
        'D10: one account has a share of the places, and others their turn before its next',
      ),
      shown('engines/web/web-pages.test.ts', 'D10: of too many elements within each other is refused at once…'),
    ],
  },
  {
    id: 'D11',
    threat: 'requests that break or delay an engine, or make it refuse, so that its upstream seems to be down',
    answer:
      'only refused connections and failed probes of the service take an upstream out; an open breaker blocks no account',
    shownBy: [
      shown(
        'engines/upstreams/upstream-pool.test.ts',
        'D11: whether an upstream is taken out after failures, where a probe works…',
        'D11: after a failure, that caller alone tries the other upstreams first for a while',
      ),
      shown('service/upstreams.test.ts', 'and answers of an open breaker block no account'),
    ],
  },
  {
    id: 'D12',
    threat:
      'a schema from which a local model would build a huge grammar, and a schema or document that writes lines to the log',
    answer:
      '400 that names the schema, before the model’s package reads it; nothing that packages print on threads is kept',
    shownBy: [
      shown(
        'engines/gguf/check-schemas.test.ts',
        'D12: many lengths of a schema is refused before a grammar is built',
        'D12: a line for the log as a reference of a schema is refused before a grammar is built',
      ),
      shown('host/workers/task-thread.test.ts', 'D12: what a package prints on a thread reaches no log'),
    ],
  },
  {
    id: 'D13',
    threat:
      'an answer of an engine, a node or a service with millions of values, or of wrong ones, that exhausts memory',
    answer:
      'it is refused: its values are counted before they are parsed, and a list of wrong values is read no further',
    shownBy: [
      shown(
        'engines/openai/read-answer.test.ts',
        'D13: an answer of endless choices is none',
        'D13: an answer of endless numbers is none',
      ),
      shown(
        'contract/bounded-requests.test.ts',
        'D13: an answer of two hundred thousand faults has fewer: choices',
        'D13: an answer of two hundred thousand faults has fewer: models',
      ),
    ],
  },
]
