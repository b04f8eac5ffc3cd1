import { isLoopback } from '#contract/wire/network-address.ts'
import { evmNetwork, usdcOnEvm, usdcOnSolana } from '#contract/wire/networks.ts'
import { parseArguments, wrongUsage } from '../arguments.ts'
import type { CommandIo } from '../command.ts'
import { addressesOf, atDesk } from './at-desk.ts'
import { railName } from './rail-name.ts'

const command = 'farebox wallet address'

const rails = ['base', 'solana'] as const

export async function showAddress(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command,
    options: { data: { type: 'string' }, rail: { type: 'string' }, qr: { type: 'boolean', default: false } },
  })
  const { rail } = values
  if (rail !== undefined && !rails.some(name => name === rail))
    throw wrongUsage(command, `\`--rail\` is ${rails.join(' or ')}`)
  return atDesk(io, values.data, async desk => {
    const addresses = (await addressesOf(desk)).filter(
      address => rail === undefined || railName(address).toLowerCase() === rail,
    )
    if (values.qr && isLocal(io.env.FAREBOX_BASE_URL))
      io.output.note('The service of this wallet is on this machine, and so is its money: send it no real USDC.')
    for (const address of addresses) {
      if (values.qr) await printQr(address, io)
      io.output.print(address)
    }
    return addresses.length > 0 ? 0 : 1
  })
}

const isLocal = (url: string | undefined): boolean =>
  url !== undefined && URL.canParse(url) && isLoopback(new URL(url).hostname)

/** What a wallet on a telephone reads: EIP-681 for a transfer of USDC on Base, a transfer request of Solana Pay there. */
export const paymentUri = (address: string): string =>
  railName(address) === 'Base'
    ? `ethereum:${usdcOnEvm}@${evmNetwork.split(':')[1]}/transfer?address=${address}`
    : `solana:${address}?spl-token=${usdcOnSolana}`

/** White on black, with the margin that scanners need; half a character a module. */
async function printQr(address: string, io: CommandIo): Promise<void> {
  const { renderUnicodeCompact } = await import('uqr')
  const uri = paymentUri(address)
  io.output.print(`USDC on ${railName(address)}: ${uri}`)
  io.output.print(renderUnicodeCompact(uri, { border: 2 }))
}
