/** A sample of Prometheus' text format: `{ name, labels, value }`. */
export interface Figure {
  name: string
  labels: Readonly<Record<string, string>>
  value: string
}

export function figuresIn(text: string): Figure[] {
  return text.split('\n').flatMap(line => {
    const match = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line)
    if (!match) return []
    const labels = [...(match[2] ?? '').matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value])
    return [{ name: match[1] ?? '', labels: Object.fromEntries(labels), value: match[3] ?? '' }]
  })
}
