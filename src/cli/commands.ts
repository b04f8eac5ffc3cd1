import type { CommandEntry } from './command.ts'

/** Every command, in the order of `farebox --help`. */
export const commands: readonly CommandEntry[] = [
  {
    name: 'up',
    summary: 'Start everything on this machine and show an assistant paying its way',
    load: () => import('./commands/up.ts').then(module => module.up),
  },
  {
    name: 'serve',
    summary: 'Serve the API before your own models, by a configuration',
    load: () => import('./commands/serve.ts').then(module => module.serve),
  },
  {
    name: 'init',
    summary: 'Write a first configuration, with the models of servers on this machine',
    load: () => import('./commands/init.ts').then(module => module.init),
  },
  {
    name: 'doctor',
    summary: 'Look at everything that a service here needs, and say what to do',
    load: () => import('./commands/doctor.ts').then(module => module.doctor),
  },
  {
    name: 'keys',
    summary: 'Make, list and end API keys, and renew the secret behind them',
    load: () => import('./commands/keys.ts').then(module => module.keys),
  },
  {
    name: 'ledger',
    summary: 'Show balances, audit or export the ledger',
    load: () => import('./commands/ledger.ts').then(module => module.ledger),
  },
  {
    name: 'backup',
    summary: 'Back up a service’s ledger into a file, also while it runs',
    load: () => import('./commands/backup.ts').then(module => module.backup),
  },
  {
    name: 'restore',
    summary: 'Put a backup into a new folder or database',
    load: () => import('./commands/restore.ts').then(module => module.restore),
  },
  {
    name: 'local',
    summary: 'Give test money on the local chain, or the settings to use it',
    load: () => import('./commands/local.ts').then(module => module.local),
  },
  {
    name: 'wallet',
    summary: "Make and look after the assistant's wallet",
    load: () => import('./commands/wallet.ts').then(module => module.wallet),
  },
  {
    name: 'mcp',
    summary: 'Serve the tools over MCP, for an assistant to start',
    load: () => import('./commands/mcp.ts').then(module => module.mcp),
  },
  {
    name: 'call',
    summary: 'Call one of the tools from the shell',
    load: () => import('./commands/call.ts').then(module => module.call),
  },
  {
    name: 'proxy',
    summary: 'Pay for any program that takes a base URL, on this machine',
    load: () => import('./commands/proxy.ts').then(module => module.proxy),
  },
]
