import validateLinks from 'remark-validate-links'

export default { plugins: [[validateLinks, { repository: false, root: '..' }]] }
