/**
 * Characters that a model or a terminal reads and a user does not see, as the inside of a class of a regular expression
 * with the flag `u`: controls, and what Unicode draws as nothing, such as fillers, selectors, tags and overrides of the
 * direction of text. Unicode keeps the list, so a character that is added there is covered here.
 */
export const hiddenCharacters = '\\p{Cc}\\p{Default_Ignorable_Code_Point}\\ufff9-\\ufffb'
