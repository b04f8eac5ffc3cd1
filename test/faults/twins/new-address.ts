let addresses = 0

/** An unused address of this machine, for requests that must not share the limits of one caller. */
export function newAddress(): string {
  const number = ++addresses
  return `127.${1 + ((number >> 16) & 127)}.${(number >> 8) & 255}.${1 + ((number & 255) % 254)}`
}
