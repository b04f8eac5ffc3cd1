import { quoteAudio } from '#contract/audio-jobs.ts'
import { toUsdNumber } from '#contract/money.ts'
import { checkDuration } from '../audio/check-music.ts'
import { json } from '../call.ts'
import { quoteMusic } from '../pricing/price-music.ts'
import { route } from '../route.ts'

/** The same function that prices the charge, so a quote cannot differ from it. */
export const quoteAudioRoute = route(quoteAudio, async ({ body }, service) => {
  const model = service.catalogue.music(body.model)
  const { duration_seconds: seconds, character_count: characters } = body
  checkDuration(model, seconds)
  return json({ quote: toUsdNumber(quoteMusic(model, { seconds, characters }).total) })
})
