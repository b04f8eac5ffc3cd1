/**
 * Characters that a model or terminal reads but a user does not see, as the body of a regular expression class with the
 * flag `u`: control characters, and those that Unicode displays as nothing, such as fillers, selectors, tags and text
 * direction overrides. Unicode maintains the list, so new characters are covered automatically.
 */
export const hiddenCharacters = '\\p{Cc}\\p{Default_Ignorable_Code_Point}\\ufff9-\\ufffb'
