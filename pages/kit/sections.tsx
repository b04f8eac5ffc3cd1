import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { place } from './router.ts'

/** One of the pages behind a navigation. */
export interface Section {
  path: string
  title: string
  page: () => JSX.Element
  /** Opened from another section, so the navigation leaves it out. */
  isHidden?: true
}

/** The outcome of the last action. */
export const said = signal('')

interface SectionNavProps {
  sections: readonly Section[]
  /** The path of the section that is marked as open. */
  current: string
}

export function SectionNav({ sections, current }: SectionNavProps): JSX.Element {
  return (
    <nav aria-label="Pages">
      {sections
        .filter(({ isHidden }) => !isHidden)
        .map(({ path, title }) => (
          <a key={path} href={path} aria-current={path === current ? 'page' : undefined}>
            {title}
          </a>
        ))}
    </nav>
  )
}

interface SectionHeadingProps {
  title: string
  /** The name of the whole page, in the title of its tab. */
  of: string
  /** Whether it is known who is signed in, and therefore which section is shown. */
  isReady?: boolean
}

/** The title of the open section, and the outcome of the last action in it. */
export function SectionHeading({ title, of, isReady = true }: SectionHeadingProps): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null)
  const isFirst = useRef(true)
  const { path } = place.value
  useEffect(() => {
    document.title = `${title} · ${of}`
    said.value = ''
    // A screen reader reads the first section anyway, and each later one from its heading.
    if (!isFirst.current && isReady) heading.current?.focus()
    if (isReady) isFirst.current = false
  }, [path, title])
  return (
    <>
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      <p class="said" role="status">
        {said.value}
      </p>
    </>
  )
}
