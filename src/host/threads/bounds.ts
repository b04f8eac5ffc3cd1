/** Accounts that may fill the line of a thread together; each has such a part of its places, and one at least. */
export const ownersInLine = 4

/** When who finds no place in it may come again: most tasks take a second or two. */
export const comeAgainSeconds = 2
