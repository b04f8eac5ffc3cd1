import { afterAll, beforeAll, expect, test } from 'vitest'
import { uploadBytes } from '#contract/limits.ts'
import { closeSound } from './close-sound.ts'
import { type Body, form, type ImageFixture, openImageFixture } from './image-fixture.ts'
import { colouredPng } from './image-models.ts'

let fixture: ImageFixture
beforeAll(async () => {
  fixture = await openImageFixture()
})
afterAll(async () => {
  await closeSound(fixture.service)
})

const png = (width: number, height: number) => async () => (await colouredPng(width, height)).toString('base64')
const text = (bytes: Buffer) => bytes.toString('base64')

const refusals: [rule: string, path: string, body: () => Body | Promise<Body>, status: number, says: string][] = [
  ['no prompt', '/image/edit', () => fixture.edit({ prompt: undefined }), 400, 'prompt'],
  ['an empty prompt', '/image/edit', () => fixture.edit({ prompt: '' }), 400, 'prompt'],
  [
    'a prompt longer than the model takes',
    '/image/edit',
    () => fixture.edit({ prompt: 'x'.repeat(101) }),
    400,
    '100 at most',
  ],
  ['a prompt longer than any takes', '/image/edit', () => fixture.edit({ prompt: 'x'.repeat(32_769) }), 400, '32768'],
  ['no image', '/image/edit', () => fixture.edit({ image: undefined }), 400, 'image'],
  ['a form without an image', '/image/edit', () => form({ model: 'editor', prompt: 'x' }, []), 400, 'image'],
  ['a ratio that there is not', '/image/edit', () => fixture.edit({ aspect_ratio: '7:5' }), 400, '16:9'],
  [
    'a ratio of other models',
    '/image/edit',
    () => fixture.edit({ aspect_ratio: '2:3' }),
    400,
    'allowed values: 1:1, 16:9',
  ],
  [
    'a resolution of other models',
    '/image/edit',
    () => fixture.edit({ resolution: '8K' }),
    400,
    'allowed values: 1K, 2K',
  ],
  ['a quality of other models', '/image/edit', () => fixture.edit({ quality: 'low' }), 400, 'allowed values: high'],
  [
    'a choice that a model has not',
    '/image/edit',
    () => fixture.edit({ model: 'demo-edit', resolution: '1K' }),
    400,
    'leave it out',
  ],
  [
    'a format that a model does not make',
    '/image/edit',
    () => fixture.edit({ model: 'demo-edit', output_format: 'jpg' }),
    400,
    'png',
  ],
  ['a format that there is not', '/image/edit', () => fixture.edit({ output_format: 'gif' }), 400, 'webp'],
  ['no truth', '/image/edit', () => fixture.edit({ safe_mode: 'maybe' }), 400, 'safe_mode'],
  ['text that is not base64', '/image/edit', () => fixture.edit({ image: 'an image' }), 400, 'must be base64'],
  [
    'an address of this machine',
    '/image/edit',
    () => fixture.edit({ image: 'http://127.0.0.1/a.png' }),
    400,
    'public address',
  ],
  [
    'an address without a file',
    '/image/edit',
    () => fixture.edit({ image: 'https://files.example/gone.png' }),
    400,
    'could not be fetched',
  ],
  [
    'an address of too large a file',
    '/image/edit',
    () => fixture.edit({ image: 'https://files.example/huge.png' }),
    413,
    'PAYLOAD_TOO_LARGE',
  ],
  ['a path of a disk', '/image/edit', () => fixture.edit({ image: 'file:///etc/passwd' }), 400, 'must be base64'],
  [
    'no image in base64',
    '/image/edit',
    () => fixture.edit({ image: text(Buffer.from('<html></html>')) }),
    400,
    'corrupted or unreadable',
  ],
  [
    'an animated image',
    '/image/edit',
    () => fixture.edit({ image: text(Buffer.from('GIF89a\x01\x00\x01\x00\x00;')) }),
    400,
    'png, jpeg, webp',
  ],
  [
    'an image that breaks off',
    '/image/edit',
    () => fixture.edit({ image: text(fixture.imageFile.subarray(0, -20)) }),
    400,
    'cut off',
  ],
  [
    'an image that is a header',
    '/image/edit',
    () => fixture.edit({ image: text(fixture.imageFile.subarray(0, 12)) }),
    400,
    'corrupted',
  ],
  [
    'too small an image',
    '/image/edit',
    async () => fixture.edit({ image: await png(20, 7)() }),
    400,
    'Image dimensions are too small',
  ],
  [
    'too large an image',
    '/image/edit',
    async () => fixture.edit({ image: await png(200, 51)() }),
    422,
    'Image dimensions exceed the maximum allowed.',
  ],
  [
    'too heavy an image',
    '/image/edit',
    () => form({ model: 'editor', prompt: 'x' }, [['image', Buffer.alloc(uploadBytes + 1)]]),
    413,
    'PAYLOAD_TOO_LARGE',
  ],
  [
    'too heavy a form',
    '/image/edit',
    () => form({}, [['image', Buffer.alloc(36 * 1024 * 1024)]]),
    413,
    'PAYLOAD_TOO_LARGE',
  ],
  [
    'a model of another type',
    '/image/edit',
    () => fixture.edit({ model: 'demo-image' }),
    404,
    'Specified model not found',
  ],
  ['more than the credit', '/image/edit', () => fixture.edit({ resolution: '2K' }), 402, 'Insufficient'],
  ['no list of images', '/image/multi-edit', () => fixture.several({ images: undefined }), 400, 'images'],
  ['an empty list', '/image/multi-edit', () => fixture.several({ images: [] }), 400, 'images'],
  ['four images', '/image/multi-edit', () => fixture.several({ images: Array(4).fill(fixture.base64) }), 400, '3'],
  [
    'more images than the model takes',
    '/image/multi-edit',
    () => fixture.several({ images: Array(3).fill(fixture.base64) }),
    400,
    'editor accepts 2 at most',
  ],
  [
    'a wrong second image',
    '/image/multi-edit',
    () => fixture.several({ images: [fixture.base64, 'x'] }),
    400,
    '"path":["images",1]',
  ],
  ['no image to make larger', '/image/upscale', () => fixture.upscale({ image: undefined }), 400, 'image'],
  ['a scale below 1', '/image/upscale', () => fixture.upscale({ scale: 0.5 }), 400, 'scale'],
  ['a scale above 4', '/image/upscale', () => fixture.upscale({ scale: 4.5 }), 400, 'scale'],
  [
    'a scale that is not a number',
    '/image/upscale',
    () => form({ model: 'upscaler', scale: 'two' }, [['image', fixture.imageFile]]),
    400,
    'scale',
  ],
  ['the same size and nothing else', '/image/upscale', () => fixture.upscale({ scale: 1 }), 400, 'only for enhance'],
  [
    'an enhancement that a model has not',
    '/image/upscale',
    () => fixture.upscale({ model: 'demo-upscale', enhance: true }),
    400,
    'leave it out',
  ],
  [
    'creativity above 1',
    '/image/upscale',
    () => fixture.upscale({ enhance: true, enhanceCreativity: 2 }),
    400,
    'enhanceCreativity',
  ],
  [
    'words that are too long',
    '/image/upscale',
    () => fixture.upscale({ enhancePrompt: 'x'.repeat(1_501) }),
    400,
    '1500',
  ],
  [
    'what would become too large',
    '/image/upscale',
    async () => fixture.upscale({ image: await png(100, 100)(), model: 'small-upscaler' }),
    422,
    'smaller scale',
  ],
  ['more than the credit', '/image/upscale', () => fixture.upscale({ scale: 4 }), 402, 'Insufficient'],
  ['no image to cut out', '/image/background-remove', () => ({ model: 'cutter' }), 400, 'as image or as image_url'],
  [
    'two of them',
    '/image/background-remove',
    () => ({ model: 'cutter', image: fixture.base64, image_url: 'https://files.example/a.png' }),
    400,
    'not both',
  ],
  [
    'text that is not an address',
    '/image/background-remove',
    () => ({ model: 'cutter', image_url: fixture.base64 }),
    400,
    'http(s)',
  ],
  [
    'a broken image',
    '/image/background-remove',
    () => ({ model: 'cutter', image: text(Buffer.from('ffd8ff00', 'hex')) }),
    400,
    'corrupted',
  ],
]
test.each(refusals)('%s at %s is refused, and nothing is charged', async (_rule, path, body, status, says) => {
  const { response, lines } = await fixture.send(path, await body(), { usd: 0.05 })
  expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(says)])
  expect([lines, fixture.engine.asked.length]).toEqual([[], 0])
})
