/** `owner/name` on GitHub, in a build that knows it, else empty. */
export default { load: (): string => process.env.GITHUB_REPOSITORY ?? '' }
