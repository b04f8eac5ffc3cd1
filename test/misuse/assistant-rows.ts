import {
  answerHtml,
  atService,
  fails,
  file,
  largeFile,
  type Mistake,
  noService,
  passphrase,
  refuseByClock,
  refuseKey,
  service,
  takenPort,
  usage,
  walletDir,
  withWallet,
} from './places.ts'

/** The mistakes of a user of an assistant. */
export const assistantMistakes: readonly Mistake[] = [
  // wallet
  usage('wallet', 'Name a subcommand', '`create`', '`farebox wallet --help`'),
  usage('wallet statsu', '`statsu`', '`status`', '`farebox wallet --help`'),
  fails('wallet status', 'no wallet in {folder}/wallet', '`--data`', 'wallet create', { env: walletDir }),
  usage('wallet address --rail bitcoin', '`bitcoin`', '`base` or `solana`', '--help'),
  usage('wallet receipts --json --csv', '`--json` or `--csv`', 'not both', '--help'),
  fails('wallet create', 'needs a terminal', '`--passphrase-file', 'Run it in a terminal', { env: walletDir }),
  fails(
    'wallet create --passphrase-file {folder}/none',
    '{folder}/none',
    'chmod 600',
    'Write the wallet’s passphrase',
    { env: walletDir },
  ),
  fails('wallet create --passphrase-file {path}', 'Other users can read {path}', 'chmod 600', 'Run `chmod 600', {
    env: walletDir,
    before: file('pass', `${passphrase}\n`, 0o644),
  }),
  fails('wallet create --passphrase-file {path}', 'passphrase', 'characters', 'Choose', {
    env: walletDir,
    before: file('pass', 'short\n'),
  }),
  usage('wallet create --service somewhere', '`--service`', 'https://host/api/v1', '--help'),
  fails(
    'wallet create --service http://127.0.0.1:9/api/v1 --passphrase-file {path}',
    'http://127.0.0.1:9/api/v1',
    null,
    'Check the address',
    { env: walletDir, before: file('pass', `${passphrase}\n`) },
  ),
  fails('wallet create --passphrase-file {path}', '{folder}/wallet', '`--data`', '`--data`', {
    env: walletDir,
    before: async place => ({ ...(await withWallet(place)), ...(await file('pass', `${passphrase}\n`)(place)) }),
  }),
  fails('wallet approve', 'needs a terminal', null, 'Run it in a terminal', { env: walletDir }),
  fails('wallet approve ask_none', 'ask_none', 'lists pending', 'wallet status', {
    env: walletDir,
    answers: [],
    before: withWallet,
  }),
  fails('wallet export', 'passphrase', null, 'Check the passphrase', {
    env: walletDir,
    answers: ['not the passphrase'],
    before: withWallet,
  }),
  fails('wallet passphrase', 'passphrase', null, 'Check the passphrase', {
    env: walletDir,
    answers: ['not the passphrase'],
    before: withWallet,
  }),
  fails('wallet resolve pay_none', 'pay_none', 'lists the payments that can be resolved', 'wallet status', {
    env: walletDir,
    answers: [],
    before: withWallet,
  }),
  usage('wallet status', 'FAREBOX_MAX_DAYUSD', 'FAREBOX_MAX_DAY_USD', 'Fix it in the environment', {
    env: { ...walletDir, FAREBOX_MAX_DAYUSD: '5' },
  }),
  fails('wallet status', 'not an EVM private key', '64', 'wallet create', {
    env: { ...walletDir, FAREBOX_WALLET_KEY: 'not a key' },
  }),
  usage('wallet dney', '`dney`', '`deny`', '`farebox wallet --help`'),
  usage('wallet send', 'Give an address', null, '--help'),
  fails('wallet send 0x12 5', 'not an address', '40 hexadecimal digits', 'copy the whole address', {
    env: walletDir,
    answers: [],
    before: withWallet,
  }),
  // install
  usage('install emacs', '`emacs`', 'cursor', '`farebox install --help`'),
  usage('install cursor --print --set FAREBOX_WALLET_KEY=1', 'FAREBOX_WALLET_KEY', 'FAREBOX_MAX_DAY_USD', '--help'),
  usage('install cursor --print --set FAREBOX_MAX_DAY_USD=much', '`much`', '5 or 0.25', '--help'),
  usage('install cursor --print --tools paint', '`paint`', 'core, wallet', '--help'),
  usage('install cursor --print --data=', '`--data` is empty', 'a folder', '--help'),
  usage('install cursor --print --service http://10.0.0.1/api/v1', '`--service`', 'https', '--help'),
  usage('install cursor --print --service somewhere', '`--service`', 'https://host/api/v1', '--help'),
  fails('install cursor --local {folder}/service', '{folder}/service', null, '`farebox up`'),
  usage('install cursor --service http://127.0.0.1:9/api/v1', 'not a terminal', '`--print`', '`--yes`'),
  fails(
    'install cursor --yes --service http://127.0.0.1:9/api/v1',
    '.cursor/mcp.json',
    null,
    'Correct it in an editor',
    { before: file('.cursor/mcp.json', '{ "mcpServers": \n') },
  ),
  fails(
    'install cursor --yes --passphrase-file {folder}/none',
    'no file {folder}/none',
    'chmod 600',
    'Write the wallet',
  ),
  fails('install cursor --yes --passphrase-file {folder}', '{folder} is a folder', 'passphrase', 'Name the file'),
  fails('install cursor --yes --passphrase-file {path}', 'Other users can read {path}', 'chmod 600', 'Run `chmod 600', {
    before: file('pass', `${passphrase}\n`, 0o644),
  }),
  fails('install cursor --yes --passphrase-file {path}', '{path} is empty', 'passphrase', 'first line', {
    before: file('pass', ''),
  }),
  // mcp, call and proxy
  usage('mcp --tools chat,paint', 'paint', 'image', '--help', { env: walletDir }),
  usage('mcp --port 1', '`--port`', '`--http`', '--help', { env: walletDir }),
  usage('mcp', '`much`', '5 or 0.25', 'Fix it in the environment', {
    env: { ...walletDir, FAREBOX_MAX_DAY_USD: 'much' },
  }),
  usage('mcp', 'FAREBOX_BASE_URL', 'https://host/api/v1', 'Fix it in the environment', {
    env: { ...walletDir, FAREBOX_BASE_URL: 'localhost' },
  }),
  usage('mcp --passphrase-fd 1', '`1`', 'from 3 to 255', '--help', { env: walletDir }),
  fails('mcp --http --port {port}', 'Port {port}', '`--port`', 'Choose another port', {
    env: walletDir,
    before: takenPort,
  }),
  usage('proxy --port 99999', '`99999`', '0 to 65535', '--help', { env: walletDir }),
  fails('proxy --port {port}', 'Port {port}', '`--port`', 'Choose another port', {
    env: { ...noService, FAREBOX_API_KEY: 'fb_of_a_test' },
    before: takenPort,
  }),
  fails('proxy --port 0', 'neither a wallet', 'FAREBOX_API_KEY', 'wallet create', { env: noService }),
  usage('call', 'Name a tool', 'chat', '--help'),
  usage('call chta prompt=hi', '`chta`', 'Did you mean `chat`?', '--help'),
  usage('call chat model=m', '`prompt` is missing', 'string', '--list chat'),
  usage('call chat model=m promt=hi', '`promt`', 'prompt', '--list chat'),
  usage('call chat model=m prompt=hi temperature=hot', '`temperature`', 'number', '--list chat'),
  usage('call chat model=m prompt=hi temperature=9', '`temperature`', '2', '--list chat'),
  usage('call image_create model=m prompt=hi format=gif', '`format`', 'png', '--list image_create'),
  usage('call chat model=m prompt', '`prompt`', 'key=value', '--list chat'),
  usage('call chat model=m prompt=hi history=earlier', '`history`', 'JSON', '--list chat'),
  fails('call models_find', 'http://127.0.0.1:9/api/v1 cannot be reached', null, 'FAREBOX_BASE_URL', {
    env: noService,
  }),
  fails('call chat model=m prompt=hi', 'neither a wallet', 'FAREBOX_API_KEY', 'wallet create', {
    env: { ...walletDir, FAREBOX_BASE_URL: '{url}' },
    before: service(),
  }),
  fails('call chat model=demo-caht prompt=hi', 'demo-caht', 'models_find', 'models_find', {
    env: atService,
    before: service(),
  }),
  fails('call chat model=m prompt=hi --passphrase-file {path}', 'passphrase', null, 'passphrase', {
    env: { ...walletDir, FAREBOX_BASE_URL: '{url}' },
    before: async place => ({
      ...(await withWallet(place)),
      ...(await service()(place)),
      ...(await file('pass', 'wrong words\n')(place)),
    }),
  }),
  fails(
    'call image_edit model=m prompt=hi images=["{folder}/none.png"]',
    'no such file',
    'an https URL',
    'Ask the user to put it',
    { env: atService, before: service() },
  ),
  fails('call transcribe model=m file={path}', 'large', 'MB', 'file', { env: atService, before: largeFile }),
  fails('call chat model=m prompt=hi', 'key', null, 'FAREBOX_API_KEY', {
    env: atService,
    before: service({ instead: refuseKey }),
  }),
  fails('call chat model=m prompt=hi', 'too little credit', null, 'add credit', {
    env: atService,
    before: service({ isNeverPaid: true }),
  }),
  // What the machine, the network or the service does.
  fails('call models_find type=text', 'does not match the API', null, 'FAREBOX_BASE_URL', {
    env: atService,
    before: service({ instead: answerHtml(200) }),
  }),
  fails('call chat model=m prompt=hi max_tokens=8', '502', null, 'Try again later', {
    env: atService,
    before: service({ instead: answerHtml(502) }),
  }),
  fails('wallet create --service {url} --passphrase-file {path}', 'not a service with this API', '/api/v1', 'Check', {
    env: walletDir,
    before: async place => ({
      ...(await service({ instead: answerHtml(200) })(place)),
      ...(await file('pass', `${passphrase}\n`)(place)),
    }),
  }),
  fails('call chat model=m prompt=hi max_tokens=8', 'clock', null, 'Ask the user', {
    env: { ...walletDir, FAREBOX_BASE_URL: '{url}', FAREBOX_WALLET_KEY: `0x${'1'.repeat(64)}` },
    before: service({ instead: refuseByClock }),
  }),
  fails('call chat model=m prompt=hi max_tokens=8', 'encrypted', '--passphrase-file', 'unlocks the wallet', {
    env: { ...walletDir, FAREBOX_BASE_URL: '{url}' },
    before: async place => ({ ...(await withWallet(place)), ...(await service()(place)) }),
  }),
  fails('proxy --port 0', 'encrypted', '--passphrase-file', 'farebox proxy', {
    env: { ...walletDir, FAREBOX_BASE_URL: '{url}' },
    before: async place => ({ ...(await withWallet(place)), ...(await service()(place)) }),
  }),
  fails('call chat model=m prompt=hi max_tokens=8', 'stop', null, 'wallet start', {
    env: { ...walletDir, FAREBOX_BASE_URL: '{url}', FAREBOX_WALLET_KEY: `0x${'1'.repeat(64)}` },
    before: async place => ({ ...(await file('wallet/stop', '')(place)), ...(await service()(place)) }),
  }),
  fails('wallet status', 'policy.json', null, 'policy.json', {
    env: walletDir,
    before: async place => ({
      ...(await withWallet(place)),
      ...(await file('wallet/policy.json', '{ "maxDayUsd": ')(place)),
    }),
  }),
  fails('wallet status', 'maxDayUsd', null, 'policy.json', {
    env: walletDir,
    before: async place => ({
      ...(await withWallet(place)),
      ...(await file('wallet/policy.json', '{ "maxDayUsd": "lots" }')(place)),
    }),
  }),
  fails('wallet receipts', 'not a database', null, 'restore the file', {
    env: walletDir,
    before: file('wallet/agent.db', 'no database at all\n'.repeat(100)),
  }),
  fails('wallet status', 'wallet.json', null, 'wallet.json', {
    env: walletDir,
    before: file('wallet/wallet.json', '{ half'),
  }),
  // The same at a terminal, where the reader is the user.
  fails(
    'call chat model=m prompt=hi max_tokens=9',
    'neither a wallet',
    'FAREBOX_API_KEY',
    'Run `farebox wallet create',
    {
      env: { ...walletDir, FAREBOX_BASE_URL: '{url}' },
      answers: [],
      before: service(),
    },
  ),
  fails('call chat model=m prompt=hi max_tokens=9', 'passphrase is wrong', null, 'Check the passphrase', {
    env: { ...walletDir, FAREBOX_BASE_URL: '{url}' },
    answers: ['wrong words'],
    before: async place => ({ ...(await withWallet(place)), ...(await service()(place)) }),
  }),
  fails('call chat model=m prompt=hi max_tokens=9', 'key', null, 'Check FAREBOX_API_KEY', {
    env: atService,
    answers: [],
    before: service({ instead: refuseKey }),
  }),
  fails(
    'call image_edit model=m prompt=hi images=["{folder}/none.png"] again=true',
    'no such file',
    'an https URL',
    'Put it into one of these folders',
    { env: atService, answers: [], before: service() },
  ),
  // completion
  usage('completion', 'Name the shell', 'bash, zsh', '--help'),
  usage('completion tcsh', '`tcsh`', 'bash, zsh or fish', '--help'),
]
