import { FolderMediaStore as Real } from '#media/media-store.ts'
import { around } from './around.ts'

export * from '#media/media-store.ts'

export class FolderMediaStore extends Real {
  override take(path: string, name: string) {
    return around('taking a file', () => super.take(path, name))
  }
}
