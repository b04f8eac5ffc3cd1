import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fromVendor, isVendor, toVendor, vendorHeader } from '#contract/wire/vendor.ts'

test('the word of a wire, both ways', () => {
  const ours = { model: 'm', service_parameters: { include_service_system_prompt: false, enable_web_search: 'on' } }
  const theirs = { model: 'm', acme_parameters: { include_acme_system_prompt: false, enable_web_search: 'on' } }
  expect(toVendor(ours, 'acme')).toEqual(theirs)
  expect(fromVendor(theirs, 'acme')).toEqual(ours)
})

test("the service's own search tool is renamed where it is called and where it is answered", () => {
  const call = (name: string) => ({ id: 'c1', type: 'function', function: { name, arguments: '{"service":1}' } })
  const answer = (name: string) => ({
    choices: [{ index: 0, message: { role: 'assistant', tool_calls: [call(name), call('my_service_tool')] } }],
  })
  const chunk = (name: string) => ({ choices: [{ index: 0, delta: { tool_calls: [call(name)] } }] })
  const request = (name: string) => ({
    messages: [
      { role: 'assistant', tool_calls: [call(name)] },
      { role: 'tool', tool_call_id: 'c1', name, content: 'service_web_search_documents' },
      { role: 'user', name: 'service_web_search_documents', content: 'service_web_search_documents' },
    ],
  })
  for (const body of [answer, chunk, request]) {
    expect(toVendor(body('service_web_search_documents'), 'acme')).toEqual(body('acme_web_search_documents'))
    expect(fromVendor(body('acme_web_search_documents'), 'acme')).toEqual(body('service_web_search_documents'))
  }
})

test.each([
  ['a text', { messages: [{ role: 'user', content: 'what is service_parameters?' }] }],
  [
    'a member of a text part',
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'a', service_parameters: {} }] }] },
  ],
  ['a member of a message', { messages: [{ role: 'user', content: '', service_parameters: {} }] }],
  ["a tool's schema", { tools: [{ function: { name: 'f', parameters: { properties: { service_parameters: {} } } } }] }],
  [
    "a tool's arguments",
    {
      messages: [
        { role: 'assistant', tool_calls: [{ function: { name: 'f', arguments: '{"service_parameters":1}' } }] },
      ],
    },
  ],
  ['metadata', { metadata: { service_parameters: { include_service_system_prompt: true } } }],
  ['an option at the top', { include_service_system_prompt: true }],
  ['a list', [{ service_parameters: {} }]],
  ['an answer in words', { choices: [{ message: { role: 'assistant', content: 'service_web_search_documents' } }] }],
  ['the model', { model: 'service_parameters' }],
  ['an error', { error: 'service_parameters.enable_web_search is wrong' }],
  ['no object', 'service_parameters'],
  ['null', null],
])('left as it is: %s', (_, body) => {
  expect(toVendor(body, 'acme')).toEqual(body)
  expect(fromVendor(body, 'acme')).toEqual(body)
})

test('values inside the parameters are left as they are', () => {
  const body = { service_parameters: { character_slug: 'service_parameters', x: { include_service_system_prompt: 1 } } }
  expect(toVendor(body, 'acme')).toEqual({ acme_parameters: body.service_parameters })
})

const name = fc.constantFrom(
  'service_parameters',
  'acme_parameters',
  'include_service_system_prompt',
  'include_acme_system_prompt',
  'messages',
  'choices',
  'message',
  'delta',
  'tool_calls',
  'function',
  'name',
  'role',
)
const leaf = fc.constantFrom('tool', 'service_web_search_documents', 'acme_web_search_documents', 1, null)
const { body: anyBody } = fc.letrec(tie => ({
  body: fc.dictionary(name, tie('value'), { maxKeys: 4 }),
  value: fc.oneof({ depthSize: 'small', maxDepth: 6 }, leaf, tie('body'), fc.array(tie('body'), { maxLength: 3 })),
}))

test('there and back again is the same body, whatever it holds', () => {
  fc.assert(
    fc.property(anyBody, body => {
      const before = structuredClone(body)
      expect(fromVendor(toVendor(body, 'acme'), 'acme')).toEqual(before)
      expect(toVendor(fromVendor(body, 'acme'), 'acme')).toEqual(before)
      expect(body).toEqual(before)
      expect(toVendor(body, 'service')).toBe(body)
    }),
    { numRuns: 300 },
  )
})

test('header names', () => {
  expect(vendorHeader('x-service-version', 'acme')).toBe('x-acme-version')
  expect(vendorHeader('x-ratelimit-type', 'acme')).toBe('x-ratelimit-type')
})

test('what a vendor word may be', () => {
  expect(['service', 'acme', 'a1'].every(isVendor)).toBe(true)
  expect(['', 'A', 'a', '1a', 'a-b', 'a_b', 'a\nb', 'a'.repeat(33)].some(isVendor)).toBe(false)
})
