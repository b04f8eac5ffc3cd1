import { answerCharacters, keepMs } from '#toolkit/bounds.ts'
import { defineResource } from '#toolkit/define.ts'
import { modelOutput, sayModel } from '#toolkit/output/model.ts'
import { fromOutside } from '#toolkit/values/untrusted.ts'

export default defineResource({
  name: 'models',
  title: 'Models and prices',
  description: 'Every model of the service, with prices and allowed values.',
  uri: 'farebox://models',
  mimeType: 'text/plain',
  needs: ['models_find'],
  keepMs: keepMs.models,

  async read(context) {
    const lines = (await context.models()).map(record => sayModel(modelOutput(record)))
    const shown = within(lines, answerCharacters)
    const list = fromOutside('models of the service', shown.join('\n'))
    const rest = lines.length - shown.length
    return { text: rest > 0 ? `${list}\n${rest} more: search them with models_find.` : list }
  },
})

/** Returns as many lines as fit. */
function within(lines: readonly string[], mostCharacters: number): string[] {
  let characters = 0
  return lines.filter(line => {
    characters += line.length + 1
    return characters <= mostCharacters
  })
}
