import { expect, test } from 'vitest'
import { ChatCompletionRequest } from '#contract/operations/chat.ts'
import { checkChat } from '#service/capabilities/chat/chat-options.ts'
import { dataUrl, png } from './example-images.ts'
import { textModel } from './example-models.ts'

const image = { type: 'image_url', image_url: { url: dataUrl('png', png(4, 4)) } }
const say = (...content: object[]) =>
  ChatCompletionRequest.parse({ model: 'demo-chat', messages: [{ role: 'user', content }] })
const capable = (change: object) => textModel({ capabilities: { ...textModel().capabilities, ...change } })

test('text and images pass', () => {
  expect(checkChat(textModel(), say({ type: 'text', text: 'two' }, image, image))).toBeUndefined()
})

test.each([
  [
    'an image of this machine',
    textModel(),
    [{ type: 'image_url', image_url: { url: 'file:///a.png' } }],
    /must be a data URL/,
  ],
  ['an image for a blind model', capable({ supportsVision: false }), [image], /allowed values: text"/],
  ['two images for a model of one', capable({ supportsMultipleImages: false }), [image, image], /one image/],
  ['sound', textModel(), [{ type: 'input_audio', input_audio: { data: 'AAAA' } }], /does not accept input_audio/],
  [
    'a file of this machine',
    textModel({ files: 'engine' }),
    [{ type: 'file', file: { file_data: 'file:///etc/passwd' } }],
    /must be a URL or a data URL/,
  ],
  ['a file', textModel(), [{ type: 'file', file: { file_data: 'file:///etc/passwd' } }], /does not accept file/],
  [
    'a video at an address',
    capable({ supportsVideoInput: true }),
    [{ type: 'video_url', video_url: { url: 'file:///a' } }],
    /must be a URL or a data URL/,
  ],
])('%s is refused', (_rule, model, parts, message) => {
  const check = () => checkChat(model, say(...parts))
  expect(check).toThrow(expect.objectContaining({ status: 400 }))
  try {
    check()
  } catch (error) {
    expect(JSON.stringify((error as { body: unknown }).body)).toMatch(message)
  }
})

test.each(['web_search', 'x_search', 'mcp'])(
  'a tool of the type %s, which the model does not accept or its engine would bill by itself, is refused',
  type => {
    const model = textModel()
    const capabilities = { ...model.capabilities, supportsWebSearch: false }
    const asked = ChatCompletionRequest.parse({
      model: 'demo-chat',
      messages: [{ role: 'user', content: 'hi' }],
      tools: [
        { type: 'function', function: { name: 'look_up' } },
        { type, function: { name: 'search' } },
      ],
    })
    expect(() => checkChat({ ...model, capabilities }, asked)).toThrow(
      expect.objectContaining({
        body: expect.objectContaining({ issues: [expect.objectContaining({ path: ['tools', 1, 'type'] })] }),
      }),
    )
  },
)
