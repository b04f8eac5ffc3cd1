/** A persona of the operator's, as its settings have it. */
export interface Character {
  /** In addresses and requests: letters, digits, `-`, `_`. */
  slug: string
  name: string
  description?: string
  /** What the model is told before the caller's own instructions; nobody is shown it. */
  instructions: string
  /** The model that it is meant for; a request may name another one. */
  modelId: string
  tags?: readonly string[]
  categories?: readonly string[]
  /** Who made it, by a short word that is no name. */
  author?: string
  adult?: boolean
  featured?: boolean
  webEnabled?: boolean
  photoUrl?: string
  shareUrl?: string
  /** ISO 8601. */
  createdAt: string
  updatedAt?: string
  imports?: number
  reviews?: readonly CharacterReview[]
}

export interface CharacterReview {
  username: string
  /** 1 to 5. */
  rating: number
  message?: string
  locale?: string
  /** ISO 8601. */
  createdAt: string
}
