/* What an edit clears. Gradio's event of an input misses what is pasted and deleted; that of a change comes for what work writes
   as well, while the field cannot be edited. Too long a text stays where it was pasted, and is refused at once; the server
   refuses it again. */
(text, made, answer) => {
  const as = { __type__: "update" }, field = document.querySelector("#%(name)s textarea");
  if (!field || field.disabled) return %(nothing)s;
  const limit = %(limit)d, size = [...text].length, what = %(what)s;
  const over = `${what} has ${size.toLocaleString("en")} characters; the limit is ${limit.toLocaleString("en")}. Please shorten it.`;
  const refused = document.querySelector("#%(line)s [data-of]")?.dataset.of ?? "%(name)s";
  const line = size > limit ? `<p class="tb-status tb-bad" role="alert" data-of="%(name)s">${over}</p>`
    : refused === "%(name)s" ? %(none)s : as;  // what is said of another field still holds
  return [line, "", ""%(answer)s];
}
