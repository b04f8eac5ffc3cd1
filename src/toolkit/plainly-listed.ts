import { z } from 'zod'

/**
 * Arguments whose bounds a call is checked against and the listing does not show: every assistant pays for each word of
 * it, and a wrong value is answered by its bounds.
 */
export const plainText = (mostCharacters: number, leastCharacters = 1) =>
  z.string().pipe(z.string().min(leastCharacters).max(mostCharacters))

export const plainNumber = (least: number, most: number) => z.number().pipe(z.number().min(least).max(most))

export const plainInteger = (least: number, most: number) => z.number().pipe(z.number().int().min(least).max(most))
