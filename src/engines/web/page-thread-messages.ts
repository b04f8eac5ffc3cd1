export interface ConvertRequest {
  html: string
  url: string
}

/** Null where the page has no text; a problem is of the packages, not of the page. */
export type ConvertAnswer =
  | { page: { title: string; markdown: string } | null }
  | { tooDeep: true }
  | { problem: string }
