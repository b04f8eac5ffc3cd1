import { keepMs } from '#toolkit/bounds.ts'
import { defineResource } from '#toolkit/define.ts'
import { modelOutput } from '#toolkit/output/model.ts'
import { fromOutside } from '#toolkit/values/untrusted.ts'

export default defineResource({
  name: 'model',
  title: 'One model',
  description: 'Prices and allowed values of a model.',
  uri: 'farebox://models/{id}',
  mimeType: 'text/plain',
  needs: ['models_find'],
  keepMs: keepMs.models,

  async read(context, id) {
    const record = (await context.models()).find(model => model.id === id)
    if (!record) return null
    const model = modelOutput(record)
    return { text: fromOutside(`model ${model.id}`, JSON.stringify(model, null, 2)) }
  },

  choices: async context => (await context.models()).map(({ id }) => id),
})
