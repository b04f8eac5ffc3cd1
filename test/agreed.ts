/** Everything that a user confirms before media with faces are sent. */
export const agreed = {
  confirmed_terms_and_privacy: true,
  confirmed_legal_right: true,
  confirmed_screening_acknowledged: true,
} as const
