/** What of an error goes into JSON, which knows no integers beyond a double: those become texts. */
export const errorAsJson = ({ name, message }: Error, facts: object): Record<string, unknown> => ({
  name,
  message,
  ...JSON.parse(JSON.stringify(facts, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))),
})
