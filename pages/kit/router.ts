import { signal } from '@preact/signals'

/** The current path, and the filter of the list there. */
export interface Place {
  path: string
  query: URLSearchParams
}

const here = (): Place => ({ path: location.pathname, query: new URLSearchParams(location.search) })

export const place = signal<Place>(here())

export function go(path: string): void {
  history.pushState(null, '', path)
  place.value = here()
  scrollTo(0, 0)
}

/** Changes the filter of the list without a history entry; an empty value removes the parameter. */
export function setQuery(change: Readonly<Record<string, string>>): void {
  const { path, query } = place.value
  const next = new URLSearchParams(query)
  for (const [name, value] of Object.entries(change)) value === '' ? next.delete(name) : next.set(name, value)
  history.replaceState(null, '', `${path}${next.size > 0 ? `?${next}` : ''}`)
  place.value = here()
}

/** From now on, links within the page do not load it again. */
export function followLinks(): void {
  addEventListener('popstate', () => {
    place.value = here()
  })
  document.addEventListener('click', event => {
    const link = event.target instanceof Element ? event.target.closest('a') : null
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey
    if (!link || !isPlain || link.origin !== location.origin || link.hash !== '') return
    event.preventDefault()
    go(`${link.pathname}${link.search}`)
  })
}
