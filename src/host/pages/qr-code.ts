import { encode } from 'uqr'

/** The white margin that scanners require, in modules. */
const border = 2

/** The QR code of a URI, as a page draws it. */
export function qrCode(uri: string): { uri: string; size: number; path: string } {
  const { data, size } = encode(uri, { border })
  const squares = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
  return { uri, size, path: squares.join('') }
}
