/** One model of each type, with what a record of that type says (published contract §6.1). */

const price = { usd: 1, diem: 1 }
const model = (type: string, spec: object) => ({
  id: `${type}-model`,
  object: 'model',
  owned_by: 'service',
  type,
  created: 1_699_000_000,
  model_spec: { name: type, privacy: 'private', ...spec },
})

export const publishedModels = {
  object: 'list',
  type: 'all',
  data: [
    model('text', {
      constraints: { temperature: { default: 0.7 }, top_p: { default: 0.9 }, repetition_penalty: { default: 1 } },
      pricing: {
        input: price,
        output: price,
        extended: { context_token_threshold: 200_000, input: price, output: price },
      },
      regionRestrictions: ['XX'],
    }),
    model('image', {
      constraints: { promptCharacterLimit: 1500, steps: { default: 20, max: 30 }, widthHeightDivisor: 8 },
      pricing: { generation: price, upscale: { '2x': price, '4x': price } },
    }),
    model('inpaint', {
      constraints: { aspectRatios: ['1:1'], promptCharacterLimit: 1500, combineImages: true },
      pricing: { inpaint: price, quality: { '1K': { low: price, medium: price, high: price } } },
    }),
    model('upscale', { pricing: { upscale: { '2x': price, '4x': price } } }),
    model('tts', { pricing: { input: price }, voices: ['a'], default_voice: 'a' }),
    model('asr', { pricing: { per_audio_second: price } }),
    model('music', {
      pricing: { durations: { short: { ...price, min_seconds: 1, max_seconds: 30 } } },
      duration_options: [30],
    }),
    model('embedding', { pricing: { input: price, output: price }, embeddingDimensions: 1024 }),
    model('video', {
      constraints: {
        aspect_ratios: ['16:9'],
        resolutions: ['720p'],
        durations: ['5s'],
        model_type: 'text-to-video',
        audio: true,
        audio_configurable: true,
      },
    }),
  ],
}
