import { getCharacterReviews } from '#contract/characters.ts'
import { paginationLimit, paginationPage, paginationTotal, paginationTotalPages } from '#contract/headers.ts'
import { json } from '../call.ts'
import { route } from '../route.ts'

export const getCharacterReviewsRoute = route(getCharacterReviews, async ({ params, query, set }, { characters }) => {
  const reviews = characters.reviews(params.slug, query)
  const { page, pageSize, total, totalPages } = reviews.pagination
  set(paginationLimit, pageSize)
  set(paginationPage, page)
  set(paginationTotal, total)
  set(paginationTotalPages, totalPages)
  return json(reviews)
})
