import type { CommandEntry } from './command.ts'

/** Every command, in the order of `farebox --help`. */
export const commands: readonly CommandEntry[] = [
  {
    name: 'up',
    summary: 'Start everything on this machine, with test money',
    load: () => import('./commands/up.ts').then(module => module.up),
  },
  {
    name: 'serve',
    summary: 'Serve the API for your own models',
    load: () => import('./commands/serve.ts').then(module => module.serve),
  },
  {
    name: 'init',
    summary: 'Write a first configuration with the models found on this machine',
    load: () => import('./commands/init.ts').then(module => module.init),
  },
  {
    name: 'doctor',
    summary: 'Check the setup and suggest fixes',
    load: () => import('./commands/doctor.ts').then(module => module.doctor),
  },
  {
    name: 'keys',
    summary: 'Manage API keys and the secret behind them',
    load: () => import('./commands/keys.ts').then(module => module.keys),
  },
  {
    name: 'console',
    summary: 'Open the operators’ console of a running service',
    load: () => import('./commands/console.ts').then(module => module.operatorsConsole),
  },
  {
    name: 'customers',
    summary: 'List, credit, refund and suspend customers',
    load: () => import('./commands/customers.ts').then(module => module.customers),
  },
  {
    name: 'usage',
    summary: 'Show what was sold by customer, model and day',
    load: () => import('./commands/usage.ts').then(module => module.usageCommand),
  },
  {
    name: 'payments',
    summary: 'List top-ups, and check one that is stuck',
    load: () => import('./commands/payments.ts').then(module => module.payments),
  },
  {
    name: 'ledger',
    summary: 'Show balances, audit or export the ledger',
    load: () => import('./commands/ledger.ts').then(module => module.ledger),
  },
  {
    name: 'backup',
    summary: 'Back up the ledger while the service runs',
    load: () => import('./commands/backup.ts').then(module => module.backup),
  },
  {
    name: 'restore',
    summary: 'Restore a backup into a new folder or database',
    load: () => import('./commands/backup.ts').then(module => module.restore),
  },
  {
    name: 'local',
    summary: 'Get test money and settings from a running `farebox up`',
    load: () => import('./commands/local.ts').then(module => module.local),
  },
  {
    name: 'wallet',
    summary: "Create and manage the assistant's wallet",
    load: () => import('./commands/wallet.ts').then(module => module.wallet),
  },
  {
    name: 'install',
    summary: 'Add farebox to an MCP client, such as Claude Code or Cursor',
    load: () => import('./commands/install.ts').then(module => module.install),
  },
  {
    name: 'mcp',
    summary: 'Serve the tools to an assistant over MCP',
    load: () => import('./commands/mcp.ts').then(module => module.mcp),
  },
  {
    name: 'call',
    summary: 'Call a tool from the shell',
    load: () => import('./commands/call.ts').then(module => module.call),
  },
  {
    name: 'proxy',
    summary: 'Pay for clients that take only a base URL',
    load: () => import('./commands/proxy.ts').then(module => module.proxy),
  },
  {
    name: 'completion',
    summary: 'Print a script that completes commands in a shell',
    load: () => import('./commands/completion.ts').then(module => module.completion),
  },
]
