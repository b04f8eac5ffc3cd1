import type { Operation } from '#contract/operations/operation.ts'
import type { Catalogue } from './catalogue.ts'
import type { ImageInputModel, ImageModel } from './model.ts'

interface NamesModel {
  model: string
  modelId?: string
}

/** The name under which a request for an edit asks for its model: the older member counts where the newer is absent. */
export const editModelName = ({ model, modelId }: NamesModel): string =>
  model === 'default' && modelId !== undefined ? modelId : model

/** Whose limit a request about pictures counts towards. Throws `modelNotFound`. */
export function imageModelOf(
  { id }: Pick<Operation, 'id'>,
  body: NamesModel,
  catalogue: Catalogue,
): ImageModel | ImageInputModel {
  switch (id) {
    case 'editImage':
    case 'multiEditImage':
      return catalogue.edit(editModelName(body))
    case 'upscaleImage':
      return catalogue.upscale(body.model)
    case 'backgroundRemoveImage':
      return catalogue.background(body.model)
    default:
      return catalogue.image(body.model)
  }
}
