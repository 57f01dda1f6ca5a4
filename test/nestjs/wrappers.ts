type Method = (this: unknown, ...args: unknown[]) => unknown
type Wrap = (method: Method) => Method

/** How decorators and agents of others replace a method. */
const wraps: Readonly<Record<string, Wrap>> = {
  nothing: (method) => method,
  'a function with copied metadata': (method) => withMetadata(method, calling(method)),
  'a function that calls later': (method) =>
    withMetadata(method, async function (...args) {
      await Promise.resolve()
      return method.apply(this, args)
    }),
  'a function that inherits from the method': (method) =>
    Object.setPrototypeOf(calling(method), method) as Method,
  'a proxy with copied metadata': (method) =>
    withMetadata(
      method,
      new Proxy(method, { apply: (target, self, args) => target.apply(self, args as unknown[]) }),
    ),
  'a function with another this': (method) =>
    withMetadata(method, function (...args) {
      return method.apply(Object.create(this as object), args)
    }),
  // Everything else below works only if the wrapper is below @Cron, because @nestjs/schedule finds no @Cron otherwise.
  'a function without metadata': calling,
  'a proxy without metadata': (method) => new Proxy(method, {}),
}

export const WRAPPERS = Object.entries(wraps).map(([wrapper, wrap]) => ({
  wrapper,
  decorator: decoratorOf(wrap),
  copiesMetadata: !wrapper.includes('without metadata'),
}))

function calling(method: Method): Method {
  return function (...args) {
    return method.apply(this, args)
  }
}

function withMetadata(from: object, to: Method): Method {
  for (const key of Reflect.getMetadataKeys(from))
    Reflect.defineMetadata(key, Reflect.getMetadata(key, from), to)
  return to
}

/** Returns a decorator of either kind. */
function decoratorOf(wrap: Wrap): MethodDecorator {
  return ((target: Method | object, _: unknown, descriptor?: PropertyDescriptor) => {
    if (!descriptor) return wrap(target as Method)
    descriptor.value = wrap(descriptor.value as Method)
    return undefined
  }) as MethodDecorator
}
