import { listCharacters } from '#contract/characters.ts'
import { json } from '../call.ts'
import { route } from '../route.ts'

export const listCharactersRoute = route(listCharacters, async ({ query }, { characters }) =>
  json({ object: 'list', data: characters.list(query) }),
)
