import {
  copyOf,
  damagedLedger,
  fails,
  file,
  type Mistake,
  model,
  takenPort,
  usage,
  withLedger,
  withLock,
} from './places.ts'

/** The mistakes of an operator, in the order of `farebox --help`: first what is typed wrong, then what is missing. */
export const serviceMistakes: readonly Mistake[] = [
  // The command line.
  usage('walet', '`walet`', '`farebox --help`', 'Did you mean `wallet`?'),
  usage('frobnicate', '`frobnicate`', '`farebox --help`', 'Run'),
  usage('help lodger', '`lodger`', '`farebox --help`', 'Did you mean `ledger`?'),
  // up
  usage('up --prot 1', '`--prot`', '--port', '`farebox up --help`'),
  usage('up --data= --once', '`--data` is empty', 'a folder', '--help'),
  usage('up --port http', '`http`', '0 to 65535', '`farebox up --help`'),
  usage('up --port', '`--port` needs a value', '`--port=VALUE`', '--help'),
  usage('up now', '`now`', 'only flags', '`farebox up --help`'),
  fails(
    'up --once --no-journey --port {port} --data {folder}/service',
    'Port {port}',
    '`--port`',
    'Choose another port',
    { before: takenPort },
  ),
  fails('up --once --data {path}', '{path} is a file', 'must be a folder', '`--data DIR`', {
    before: file('a-file', ''),
  }),
  usage('up --install emacs', '`emacs`', 'cursor', '`farebox up --help`'),
  usage('up --install cursor', 'not a terminal', '`--yes`', 'Cursor'),
  usage('up --install cursor --yes --once', '`--install`', 'keeps running', '`farebox up --help`'),
  usage('up --yes', '`--yes`', '`--install`', '`farebox up --help`'),
  fails('up --install cursor --yes', '.cursor/mcp.json', null, 'Correct it in an editor', {
    before: file('.cursor/mcp.json', '{ "mcpServers": \n'),
  }),
  // serve and init
  fails('serve --config {folder}/none.yaml', '{folder}/none.yaml', '`--config`', 'Create it with `farebox init`'),
  usage('serve --config=', '`--config` is empty', 'a file', '--help'),
  fails('serve --config {folder}', '{folder} is a folder', 'farebox.yaml', 'Name a file'),
  usage('serve --workers 0', '`0`', 'from 1 to', '`farebox serve --help`'),
  usage('serve --log-level loud', '`loud`', 'error, warn', '`farebox serve --help`'),
  fails('serve --check --config {path}', ':1:9', 'end it with ]', '`farebox serve --check', {
    before: file('farebox.yaml', 'models: [\n  - id: one\n'),
  }),
  fails('serve --check --config {path}', 'ollama', 'openai', 'Fix it, then run', {
    before: file('farebox.yaml', model('{ engine: ollama }')),
  }),
  fails('serve --check --config {path}', 'prices', 'faces', 'Fix it, then run', {
    before: file('farebox.yaml', model('{ engine: demo }', 'prices: 1\n')),
  }),
  fails('serve --check --config {path}', 'nowhere', '127.0.0.1:8402', 'Fix it, then run', {
    before: file('farebox.yaml', model('{ engine: demo }', 'listen: nowhere\n')),
  }),
  fails('serve --check --config {path}', 'cheap', 'such as 0.15', 'Fix it, then run', {
    before: file(
      'farebox.yaml',
      model('{ engine: demo }').replace('inputPerMillionUsd: 1', 'inputPerMillionUsd: cheap'),
    ),
  }),
  fails('serve --config {path}', 'Port {port}', '`listen`', 'Choose another port', {
    before: async place => {
      const { port } = await takenPort(place)
      return { port, ...(await file('farebox.yaml', model('{ engine: demo }', `listen: 127.0.0.1:${port}\n`))(place)) }
    },
  }),
  fails('init --config {path} --no-search', '{path}', null, '`--config`', { before: file('farebox.yaml', '') }),
  fails('init --config {folder}/none/farebox.yaml --no-search', '{folder}/none', null, '`--config`'),
  // doctor
  usage('doctor --assistant --config x', '`--config`', 'applies to a service', '`farebox doctor --help`'),
  // keys and ledger
  usage('keys', 'Name a subcommand', '`create`', '`farebox keys --help`'),
  usage('keys creat', '`creat`', '`create`', '`farebox keys --help`'),
  usage('keys create --data {folder}/service', '`--usd` is missing', 'such as 5', '`farebox keys --help`'),
  usage('keys create --usd five --data {folder}/service', '`five`', 'such as 5 or 0.25', '--help'),
  usage('keys create --usd 99999999 --data {folder}/service', '`99999999`', 'at most 1000000', '--help'),
  usage('keys create --usd -5 --data {folder}/service', '`-5`', 'or 0', '--help'),
  usage('keys create --usd 5 --budget-usd 1 --period week', '`week`', 'month', '--help'),
  usage('keys create --usd 5 --budget-usd 1', '`--period`', 'month', '--help'),
  fails('keys list --data {folder}/service', '{folder}/service', '`--data`', 'Start one with `farebox up`'),
  usage('keys revoke --data {folder}/service', 'id of the key is missing', '`farebox keys list`', '--help', {
    before: withLedger,
  }),
  fails('keys revoke nope --data {folder}/service', 'nope', '`farebox keys list`', '`farebox keys list`', {
    before: withLedger,
  }),
  fails('keys list --account nobody --data {folder}/service', 'nobody', 'a name', '`farebox customers list`', {
    before: withLedger,
  }),
  usage('ledger audti', '`audti`', '`audit`', '`farebox ledger --help`'),
  fails('ledger audit --data {folder}/service', '{folder}/service', '`--data`', 'Start one with `farebox up`'),
  fails('ledger balance nobody --data {folder}/service', 'nobody', 'lists all accounts', '`farebox ledger balance`', {
    before: withLedger,
  }),
  usage('ledger export --from yesterday --data {folder}/service', '`yesterday`', '2026-11-01', '--help'),
  usage(
    'ledger export --from 2026-11-02 --to 2026-11-01 --data {folder}/service',
    '`--from`',
    'before `--to`',
    '--help',
  ),
  fails('ledger audit --data {path}', '{path}', 'must be a folder', '`--data DIR`', { before: file('a-file', '') }),
  // console, customers and usage
  usage('console --role boss', '`boss`', 'read, support, owner', '`farebox console --help`'),
  fails('console --data {folder}/service', '{folder}/service', '`--data`', 'Start it with `farebox serve`'),
  usage('customers', 'Name a subcommand', '`list`', '`farebox customers --help`'),
  usage('customers shwo', '`shwo`', 'Did you mean `show`?', '`farebox customers --help`'),
  usage('customers show --data {folder}/service', 'The customer is missing', null, '--help', { before: withLedger }),
  fails('customers show nobody --data {folder}/service', '`nobody`', 'give a', '`farebox customers list`', {
    before: withLedger,
  }),
  fails('customers list --data {folder}/none', '{folder}/none', '`--data`', 'farebox'),
  usage('customers list --sort price --data {folder}/service', '`price`', 'charged', '--help', { before: withLedger }),
  usage('customers credit nobody --usd 5 --data {folder}/service', '`--reason`', null, '--help', {
    before: withLedger,
  }),
  usage('customers credit nobody --usd five --reason gift --data {folder}/service', '`five`', '5 or 0.25', '--help', {
    before: withLedger,
  }),
  fails(
    'customers refund nothing --reason gift --data {folder}/service',
    'nothing to refund',
    null,
    '`farebox customers list`',
    { before: withLedger },
  ),
  usage('customers limit nobody --plan gold --data {folder}/service', '`gold`', 'partner', '--help', {
    before: withLedger,
  }),
  usage('usage --by planet --data {folder}/service', '`planet`', 'customer, model', '--help', { before: withLedger }),
  usage('usage --from yesterday --data {folder}/service', '`yesterday`', '2026-11-01', '--help', {
    before: withLedger,
  }),
  fails('usage --customer nobody --data {folder}/service', '`nobody`', 'give a', '`farebox customers list`', {
    before: withLedger,
  }),
  // backup and restore
  usage('backup --data {folder}/service', 'FILE is missing', 'for example', '`farebox backup --help`'),
  fails(
    'backup {folder}/copy.db --data {folder}/service',
    '{folder}/service',
    '`--data`',
    'Start one with `farebox up`',
  ),
  fails('backup {path} --data {folder}/service', '{path} already exists', 'never overwrites', 'Choose another file', {
    before: async place => ({ ...(await withLedger(place)), ...(await file('copy.db', '')(place)) }),
  }),
  fails('backup {folder}/none/copy.db --data {folder}/service', 'no folder {folder}/none', null, 'Create it', {
    before: withLedger,
  }),
  fails('restore {folder}/none.db --data {folder}/service', '{folder}/none.db', '`farebox backup`', 'Give the path'),
  fails('restore {path} --data {folder}/service', '{path}', '`farebox backup`', 'Restore another file', {
    before: file('notes.md', '# Notes\n'),
  }),
  fails('restore {path} --data {folder}/service', 'using the folder {folder}/service', '`--data`', 'Stop it', {
    before: async place => ({ ...(await withLock(place)), ...(await copyOf(place)) }),
  }),
  fails('keys list --data {folder}/service', 'damaged', null, '`farebox restore BACKUP`', { before: damagedLedger }),
  // local
  usage('local fnd', '`fnd`', '`fund`', '`farebox local --help`'),
  fails('local env --data {folder}/service', '{folder}/service', null, '`farebox up`'),
  usage('local env --rail bitcoin', '`bitcoin`', '`base` or `solana`', '--help'),
  usage('local fund --usd 5', 'ADDRESS is missing', '40 digits', '--help'),
  usage('local fund 0x12 --usd lots', '`lots`', 'such as 25', '--help'),
  fails(
    'local fund 0x12 --usd 5 --data {folder}/service',
    'not an EVM address',
    '40 hexadecimal digits',
    '`farebox local --help`',
  ),
]
