import { getCharacter, getCharacterReviews, listCharacters } from '#contract/operations/characters.ts'
import { paginationLimit, paginationPage, paginationTotal, paginationTotalPages } from '#contract/wire/headers.ts'
import { json, route } from '../../http/route.ts'

export const listCharactersRoute = route(listCharacters, async ({ query }, { characters }) =>
  json({ object: 'list', data: characters.list(query) }),
)

export const getCharacterRoute = route(getCharacter, async ({ params }, { characters }) =>
  json({ object: 'character', data: characters.record(params.slug) }),
)

export const getCharacterReviewsRoute = route(getCharacterReviews, async ({ params, query, set }, { characters }) => {
  const reviews = characters.reviews(params.slug, query)
  const { page, pageSize, total, totalPages } = reviews.pagination
  set(paginationLimit, pageSize)
  set(paginationPage, page)
  set(paginationTotal, total)
  set(paginationTotalPages, totalPages)
  return json(reviews)
})
