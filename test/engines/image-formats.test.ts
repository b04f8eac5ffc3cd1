import { afterAll, describe, expect, test } from 'vitest'
import { imageSize, isWholeImage, typeOfBytes } from '#contract/wire/image-header.ts'
import { convertWorker } from '#engines/comfy/images.ts'
import { demoImageWorker } from '#engines/demo/images.ts'
import { colouredPng } from '../service/image-models.ts'

/** A thread has to start, on a machine that may be busy. */
const threadMs = 60_000

describe('images of other formats', () => {
  const worker = convertWorker()
  const demo = demoImageWorker()
  const never = new AbortController().signal
  afterAll(() => Promise.all([worker.close(), demo.close()]))

  test.each(['jpeg', 'webp'] as const)(
    '%s is written, recognized as whole, and read again',
    async format => {
      const made = await worker.run({ image: await colouredPng(24, 12), format }, never)
      expect([typeOfBytes(made), imageSize(format, made), isWholeImage(format, made)]).toEqual([
        format,
        { width: 24, height: 12 },
        true,
      ])
      expect(isWholeImage(format, made.subarray(0, -8))).toBe(false)
      const larger = await demo.run({ kind: 'upscale', image: made, scale: 2 }, never)
      expect(imageSize('png', larger)).toEqual({ width: 48, height: 24 })
    },
    threadMs,
  )

  test(
    'an image that cannot be decoded is told apart from a fault of ours',
    async () => {
      const made = await worker.run({ image: await colouredPng(24, 12), format: 'webp' }, never)
      const broken = Buffer.concat([made.subarray(0, 30), Buffer.alloc(made.length - 30, 255)])
      const read = demo.run({ kind: 'background', image: broken }, never)
      await expect(read).rejects.toMatchObject({ kind: 'CORRUPTED_IMAGE' })
    },
    threadMs,
  )
})
