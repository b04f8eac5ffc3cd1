/** Brief §3.2: what a person states when they consent to a policy, each by itself. Nobody states it for them. */
export const attestations = {
  termsAndPrivacy: 'I have read the policy above and agree to its terms and privacy rules.',
  legalRight: 'I have the legal right to use this media, or the consent of everybody shown in it.',
  screeningAcknowledged: 'I know that the media will be screened.',
} as const
