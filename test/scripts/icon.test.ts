import { readFileSync } from 'node:fs'
import { inflateSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { icon } from '../../scripts/mcpb/icon.ts'

/** Its size, how its pixels are kept, and the pixels. */
function read(file: Buffer) {
  const end = 41 + file.readUInt32BE(33)
  return { side: file.readUInt32BE(16), height: file.readUInt32BE(20), pixels: inflateSync(file.subarray(41, end)) }
}

test('the icon that is kept is the one that is drawn, 512 pixels a side', async () => {
  const kept = read(readFileSync(new URL('../../icon.png', import.meta.url)))
  expect([kept.side, kept.height]).toEqual([512, 512])
  expect(kept.pixels.equals(read(await icon()).pixels)).toBe(true)
})
