import { resolve } from 'node:path'
import { quoted } from '#agent/words/own-command.ts'
import { isLoopback } from '#contract/wire/network-address.ts'
import { evmNetwork, solanaNetwork, usdcOnEvm, usdcOnSolana } from '#contract/wire/networks.ts'

export interface NewWallet {
  address: string
  solanaAddress: string
  /** Absent where none was named. */
  service: string | undefined
  /** CAIP-2 networks on which the service is paid; empty where none was named. */
  networks: readonly string[]
  isInKeychain: boolean
  /** The file that its passphrase came from, where it came from one. */
  passphraseFile?: string | undefined
}

/** All that is left to do before an assistant can pay, one step a line, in the order in which it is done. */
export const nextSteps = (wallet: NewWallet): string[] => [
  `1. ${funding(wallet)}`,
  `2. ${starting(wallet)}`,
  `3. Look at \`farebox wallet status\`: the caps, what is left of them, and what waits for you.`,
]

/** A service on this machine is paid on a chain of this machine, however much it looks like Base. */
function funding({ service, address, solanaAddress, networks }: NewWallet): string {
  if (service !== undefined && isLoopback(new URL(service).hostname))
    return `Fund the address on Base first: \`farebox local fund ${address} --usd 10 --data FOLDER\`. FOLDER is that of the running \`farebox up\`, which prints "Everything is kept in" it. The service is on this machine, so its chain is most likely a local one. Send it no real USDC. The wallet pays from Base as long as no node tells what either address holds; to pay from Solana, set "networks": ["${solanaNetwork}"] in policy.json.`
  const rails = [
    { network: evmNetwork, place: `to ${address} on Base (${evmNetwork}, token ${usdcOnEvm})` },
    { network: solanaNetwork, place: `to ${solanaAddress} on Solana (token ${usdcOnSolana})` },
  ]
  const taken = rails.filter(({ network }) => networks.length === 0 || networks.includes(network))
  const places = taken.map(({ place }) => place).join(', or ')
  const first = taken.length > 1 ? ' Fund Base first if you have no preference: it pays when no node answers.' : ''
  return `Send the few USDC that you mean to spend ${places}; they are all that can ever be lost.${first}`
}

function starting({ service, isInKeychain, passphraseFile }: NewWallet): string {
  const address = service === undefined ? 'the FAREBOX_BASE_URL of the service' : `FAREBOX_BASE_URL=${service}`
  const start = `let the assistant start \`farebox mcp`
  if (isInKeychain) return `In its settings, ${start}\` with ${address}; the keychain of this system opens the wallet.`
  return passphraseFile !== undefined
    ? `In its settings, ${start} --passphrase-file ${quoted(resolve(passphraseFile))}\` with ${address}.`
    : `Write the passphrase to a file that only you may read (chmod 600); then, in its settings, ${start} --passphrase-file FILE\` with ${address}.`
}
