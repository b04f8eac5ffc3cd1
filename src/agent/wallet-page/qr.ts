import { crc32, deflateSync } from 'node:zlib'
import { encode, renderSVG } from 'uqr'
import { isLoopback } from '#contract/wire/network-address.ts'
import { evmNetwork, usdcOnEvm, usdcOnSolana } from '#contract/wire/networks.ts'
import type { Shown } from '#toolkit/tool-context.ts'
import { namespaceOf } from '#wallet/rules/policy.ts'

/** The URI that a mobile wallet reads: EIP-681 for USDC on Base, Solana Pay for USDC on Solana. */
export const paymentUri = (address: string): string =>
  namespaceOf(address) === 'eip155'
    ? `ethereum:${usdcOnEvm}@${evmNetwork.split(':')[1]}/transfer?address=${address}`
    : `solana:${address}?spl-token=${usdcOnSolana}`

/** The white margin that scanners require, in modules. */
const border = 2

/** For a page: contains no script or style, and loads nothing. */
export const svgQr = (address: string): string =>
  renderSVG(paymentUri(address), { border }).replace('<svg ', '<svg class="qr" role="img" aria-label="QR code" ')

/** Pixels per module. A phone can read it from a screen, and the image stays below 2 kB. */
const scale = 5

/**
 * The QR code for a conversation; empty if the money exists only on this machine, because a mobile wallet would send
 * real money.
 */
export const codeFor = (address: string, serviceOrigin: string): Shown[] =>
  isLoopback(new URL(serviceOrigin).hostname)
    ? []
    : [{ type: 'image', data: pngQr(address).toString('base64'), mimeType: 'image/png' }]

/** Returns a PNG with one bit per pixel. */
export function pngQr(address: string): Buffer {
  const { data } = encode(paymentUri(address), { border })
  const side = data.length * scale
  const rows = data.flatMap(modules => Array.from({ length: scale }, () => rowOf(modules, side)))
  const header = Buffer.alloc(13)
  header.writeUInt32BE(side, 0)
  header.writeUInt32BE(side, 4)
  header[8] = 1
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.concat(rows))),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** Returns a row of an image: no filter, then eight pixels per byte, white if the bit is set. */
function rowOf(modules: readonly boolean[], side: number): Buffer {
  const row = Buffer.alloc(1 + Math.ceil(side / 8))
  for (let x = 0; x < side; x++) {
    const at = 1 + (x >> 3)
    if (!modules[Math.floor(x / scale)]) row[at] = (row[at] ?? 0) | (0x80 >> (x & 7))
  }
  return row
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const whole = Buffer.alloc(body.length + 8)
  whole.writeUInt32BE(data.length, 0)
  body.copy(whole, 4)
  whole.writeUInt32BE(crc32(body), body.length + 4)
  return whole
}
