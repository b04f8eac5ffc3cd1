import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseModelSuffix, ServiceParameters } from '#contract/operations/service-parameters.ts'

test.each([
  ['no suffix', 'demo-chat', 'demo-chat', {}],
  ['one option', 'demo-chat:enable_web_search=on', 'demo-chat', { enable_web_search: 'on' }],
  [
    'two options',
    'default:enable_web_search=on&include_service_system_prompt=false',
    'default',
    { enable_web_search: 'on', include_service_system_prompt: false },
  ],
  ['a model with colons', 'llama3:8b:strip_thinking_response=true', 'llama3:8b', { strip_thinking_response: true }],
  ['a model with a colon and no suffix', 'llama3:8b', 'llama3:8b', {}],
  ['an encoded value', 'm:character_slug=alan%20watts%3A1', 'm', { character_slug: 'alan watts:1' }],
  ['a colon in a value', 'm:character_slug=a:b', 'm', { character_slug: 'a:b' }],
  ['a value that is wrongly encoded', 'm:character_slug=100%', 'm', { character_slug: '100%' }],
  ['an unknown option is ignored', 'm:speed=9&disable_thinking=true', 'm', { disable_thinking: true }],
  ['the last of two wins', 'm:disable_thinking=true&disable_thinking=false', 'm', { disable_thinking: false }],
  ['a name of the prototype', 'm:__proto__=1&constructor=2&toString=3', 'm', {}],
  ['nothing before the colon', ':enable_web_search=on', ':enable_web_search=on', {}],
])('%s', (_, name, model, parameters) => {
  expect(parseModelSuffix(name)).toEqual({ model, parameters, invalid: [] })
})

test.each([
  ['enable_web_search', 'yes', 'off, on, auto'],
  ['disable_thinking', '1', 'true, false'],
  ['include_service_system_prompt', '', 'true, false'],
  ['character_slug', '', 'the id of a public character'],
])('a wrong value names the option and what is allowed: %s=%s', (option, value, allowed) => {
  expect(parseModelSuffix(`m:${option}=${value}`)).toEqual({
    model: 'm',
    parameters: {},
    invalid: [{ option, allowed }],
  })
})

test('G6: a suffix that is longer than all options is not read', () => {
  const name = `m:${'disable_thinking=true&'.repeat(100)}`
  expect(parseModelSuffix(name)).toEqual({ model: name, parameters: {}, invalid: [] })
})

test('every option of the brief may stand in a suffix (§2.8)', () => {
  const words = Object.keys(ServiceParameters.shape).map(option =>
    option === 'enable_web_search'
      ? `${option}=auto`
      : option === 'character_slug'
        ? `${option}=ada`
        : `${option}=true`,
  )
  const { parameters, invalid } = parseModelSuffix(`m:${words.join('&')}`)
  expect(Object.keys(parameters).sort()).toEqual(Object.keys(ServiceParameters.shape).sort())
  expect(invalid).toEqual([])
})

test('no name throws, and what it sets is always valid', () => {
  const word = fc.oneof(
    fc.string(),
    fc.constantFrom(':', '=', '&', '%', 'enable_web_search', 'disable_thinking', 'true'),
  )
  fc.assert(
    fc.property(
      fc.array(word).map(words => words.join('')),
      name => {
        const { model, parameters } = parseModelSuffix(name)
        expect(name.startsWith(model)).toBe(true)
        expect(ServiceParameters.safeParse(parameters).success).toBe(true)
      },
    ),
    { numRuns: 500 },
  )
})
