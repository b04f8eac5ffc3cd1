const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** As wallets write addresses and signatures; the service itself only reads them. */
export function encodeBase58(bytes: Uint8Array): string {
  const leading = bytes.findIndex(byte => byte !== 0)
  const zeros = leading === -1 ? bytes.length : leading
  let value = BigInt(`0x0${Buffer.from(bytes).toString('hex')}`)
  let text = ''
  for (; value > 0n; value /= 58n) text = `${alphabet[Number(value % 58n)]}${text}`
  return '1'.repeat(zeros) + text
}
