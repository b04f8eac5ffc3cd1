import type { Output } from '../output.ts'
import { paintFor } from './style.ts'

/** One line of a command's synopsis, such as `farebox keys list [--json]`. */
export interface Synopsis {
  line: string
  /** Its words, such as `approve` and `refuse`; empty for a command without words. */
  words: readonly string[]
}

/** The synopses of a usage text, which is the only list of a command's words and flags. */
export function synopsesOf(name: string, usage: string): Synopsis[] {
  const [first = ''] = usage.trim().split('\n\n')
  const lines = first.replace(/^Usage: /, '').split(new RegExp(`\\n +(?=farebox ${name}\\b)`))
  return lines.map(each => {
    const line = each.replaceAll(/\s*\n\s*/g, ' ').trim()
    const [, , third = ''] = line.split(' ')
    return { line, words: /^[a-z][a-z|-]*$/.test(third) ? third.split('|') : [] }
  })
}

interface Helped {
  name: string
  summary: string
  usage: string
}

/** The help of a command, or only what concerns one of its words; with examples. */
export function helpText(
  { name, summary, usage }: Helped,
  word: string | undefined,
  output: Pick<Output, 'isColoured'>,
): string {
  const own = synopsesOf(name, usage).filter(({ words }) => word !== undefined && words.includes(word))
  const isWord = word !== undefined && own.length > 0
  const begin = `farebox ${name}${isWord ? ` ${word}` : ''}`
  const shown = (examples[name] ?? []).filter(([line]) => new RegExp(`${begin}\\b`).test(line))
  const paint = paintFor(output)
  return [
    isWord ? wordHelp(usage, word, own) : `${summary}\n\n${usage.trim()}`,
    ...(shown.length > 0 ? [paint('heading', shown.length > 1 ? 'Examples:' : 'Example:')] : []),
    ...(shown.length > 0 ? [shown.map(([line, what]) => `  ${what}:\n    ${paint('accent', line)}`).join('\n')] : []),
    ...(isWord ? [`Run \`farebox help ${name}\` for its other subcommands.`] : []),
  ].join('\n\n')
}

function wordHelp(usage: string, word: string, own: readonly Synopsis[]): string {
  const [, ...paragraphs] = usage.trim().split('\n\n')
  const lines = own.map(({ line }) => line)
  const names = new Set(lines.flatMap(line => line.match(/--[a-z][a-z-]*|\b[A-Z]{2,}\b/g) ?? []))
  const options = paragraphs.flatMap(rowsOf).filter(row => {
    const [first = ''] = row.trim().split(/ {2,}/)
    return (first.match(/--[a-z][a-z-]*|^[A-Z]+/g) ?? []).some(each => names.has(each) || isOfGroup(each, usage, names))
  })
  return [
    `Usage: ${lines.join('\n       ')}`,
    sentencesOf(paragraphs, word),
    ...(options.length > 0 ? [options.join('\n')] : []),
  ].join('\n\n')
}

/**
 * Whether a flag belongs to a group that the synopsis names in capitals, such as BUDGET, and which has its own
 * paragraph.
 */
const isOfGroup = (flag: string, usage: string, names: ReadonlySet<string>): boolean =>
  [...names].some(group => /^[A-Z]+$/.test(group) && (usage.split(`\n${group} is `)[1] ?? '').includes(`  ${flag}`))

/** The rows of a paragraph that explains flags, each with the lines that continue it. */
const rowsOf = (paragraph: string): string[] =>
  /^ {2}\S/.test(paragraph) ? paragraph.split(/\n(?= {2}\S)/).filter(row => /^ {2}(--|[A-Z]{2})/.test(row)) : []

/** Returns the row about one word in the usage's table of words, as sentences. */
function sentencesOf(paragraphs: readonly string[], word: string): string {
  const rows = paragraphs.flatMap(paragraph => paragraph.split(/\n(?=\S)/))
  const row = rows.find(each => new RegExp(`^${word} {2,}`).test(each)) ?? ''
  return `${oneLine(row).replace(/ {2,}/, ' ')}.`
}

const oneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, ' ').trim()

/** Examples for `farebox help COMMAND`, each with an explanation. */
export const examples: Readonly<Record<string, readonly (readonly [line: string, what: string])[]>> = {
  up: [
    ['farebox up', 'Run the demo, then keep serving'],
    ['farebox up --install claude-code', 'Add farebox to Claude Code too, with test money'],
    ['farebox up --no-journey --port 0 --json', 'Serve without the demo, for a program'],
  ],
  serve: [
    ['farebox serve --check', 'Validate farebox.yaml'],
    ['farebox serve --reload', 'Make the running service reload farebox.yaml'],
    ['farebox serve --config /etc/farebox.yaml --workers 4', 'Serve with four processes'],
  ],
  init: [['farebox init --port 9000', 'Write farebox.yaml, and also look for models on port 9000']],
  doctor: [
    ['farebox doctor', 'Check the service of this folder'],
    ['farebox doctor --assistant', 'Check the wallet and settings of an assistant'],
  ],
  keys: [
    ['farebox keys create --usd 5 --label laptop', 'Create a key for a new customer with 5 USD of credit'],
    ['farebox keys budget KEY_ID --period month --budget-usd 20', 'Let a key spend 20 USD a month'],
    ['farebox keys list', 'List the keys'],
    ['farebox keys revoke KEY_ID', 'Revoke a key'],
    ['farebox keys rotate-secret', 'Replace the secret behind the keys; stop the service first'],
    ['farebox keys drop-secrets', 'Stop accepting former secrets'],
  ],
  console: [
    ['farebox console', 'Print a link to the console'],
    ['farebox console --role support', 'Print a link for a colleague in support'],
    ['farebox console operators add ada --role support', 'Add a colleague in support as a named operator'],
  ],
  customers: [
    ['farebox customers list --sort charged', 'List the biggest spenders first'],
    ['farebox customers show ada@example.com', 'Show a customer'],
    ['farebox customers create "Ada Ltd" --email ada@example.com', 'Create a customer'],
    ['farebox customers rename ada@example.com "Ada & Co"', 'Change the name of a customer'],
    ['farebox customers credit ada@example.com --usd 20 --reason "invoice 17"', 'Give a customer 20 USD of credit'],
    [
      'farebox customers credit ada@example.com --usd 20 --reason "invoice 17" --id invoice-17',
      'Give it only once, even if this runs again',
    ],
    ['farebox customers refund REQUEST --reason "the image was black"', 'Refund a request'],
    ['farebox customers suspend ada@example.com --reason "stolen card"', 'Suspend a customer'],
    ['farebox customers resume ada@example.com', 'Let a suspended customer call again'],
    ['farebox customers limit ada@example.com --plan partner', 'Give a customer the rate limits of the partner plan'],
    ['farebox customers log', 'Show who did what and why'],
  ],
  usage: [
    ['farebox usage --by day,model --from 2026-11-01', 'Show each day and model since the first of November'],
    [
      'farebox usage --by customer --from 2026-11-01 --to 2026-12-01 --csv > november.csv',
      'Export a month by customer',
    ],
  ],
  payments: [
    ['farebox payments list --stage stuck', 'Show top-ups that have not ended, and what to do about each'],
    ['farebox payments check \'evm:8453:0x…\' --reason "ticket 17"', 'Make the service check one of them now'],
  ],
  ledger: [
    ['farebox ledger balance', 'Show the balance of each account'],
    ['farebox ledger audit --chain', 'Audit the ledger, and compare it with the chains'],
    ['farebox ledger export --from 2026-11-01 > november.csv', 'Export the rows since the first of November'],
    ['farebox ledger compact --keep-months 12 --dry-run', 'See what compacting would archive'],
    ['farebox ledger reopen', 'Allow paid calls again, if the ledger adds up'],
  ],
  backup: [['farebox backup /backups/monday.db --with-secret', 'Back up the ledger and the secret behind its keys']],
  restore: [['farebox restore /backups/monday.db --data restored', 'Restore it into a new folder']],
  local: [
    ['farebox local fund ADDRESS --usd 25', 'Send 25 test USDC to an address'],
    ['farebox local stake ADDRESS --tokens 2', 'Stake two test tokens'],
    ['eval "$(farebox local env)"', 'Use the test wallet in this shell'],
  ],
  wallet: [
    ['farebox wallet create --service https://api.service.example/api/v1 --keychain', 'Create a wallet for a service'],
    ['farebox wallet address --qr', 'Show where to send USDC'],
    ['farebox wallet status', 'Show balances, caps and pending approvals'],
    ['farebox wallet receipts --csv > receipts.csv', 'Export payments and charges'],
    ['farebox wallet approve', 'Decide on the only pending approval'],
    ['farebox wallet deny REQUEST_ID', 'Deny one of several'],
    ['farebox wallet open', 'Open the wallet’s page'],
    ['farebox wallet send ADDRESS all', 'Send everything back to an address of yours'],
    ['farebox wallet resolve PAYMENT_ID', 'Record what you found on the chain'],
    ['farebox wallet export', 'Show the secret keys'],
    ['farebox wallet passphrase', 'Change the passphrase'],
    ['farebox wallet stop', 'Stop the wallet'],
    ['farebox wallet start', 'Lift the stop'],
    ['farebox wallet move', 'Use this wallet’s journal on this machine'],
  ],
  install: [
    ['farebox install', 'List the clients, and which of them are installed here'],
    ['farebox install cursor --service https://api.service.example/api/v1', 'Add farebox to Cursor'],
    ['farebox install claude-code --local .farebox', 'Try it in Claude Code with the test money of `farebox up`'],
    ['farebox install cursor --uninstall', 'Remove it'],
  ],
  mcp: [
    ['farebox mcp --tools core,image', 'Serve the text and image tools on stdin and stdout'],
    ['farebox mcp --http --port 8404', 'Serve over Streamable HTTP'],
    ['farebox mcp --print-config cursor', 'Print the configuration for Cursor'],
  ],
  call: [
    ['farebox call --list chat', 'Show the arguments of chat'],
    ["farebox call chat model=demo-chat prompt='Say hello.'", 'Ask a model'],
    [
      "farebox call image_create model=demo-image prompt='A lighthouse at dusk' --json",
      'Make an image, with the result as JSON',
    ],
  ],
  proxy: [['farebox proxy --port 8403', 'Pay for clients that use http://127.0.0.1:8403']],
  completion: [['farebox completion bash > ~/.local/share/bash-completion/completions/farebox', 'Complete in bash']],
}
