import { getCharacter } from '#contract/characters.ts'
import { json } from '../call.ts'
import { route } from '../route.ts'

export const getCharacterRoute = route(getCharacter, async ({ params }, { characters }) =>
  json({ object: 'character', data: characters.record(params.slug) }),
)
