"use strict";
(function () {
  var root = document.documentElement;
  function speak() {
    var chosen = document.querySelector("input[name=lang]:checked");
    if (!chosen) return;
    root.lang = chosen.value;
    document.title = document.querySelector("h1 [lang=" + chosen.value + "]").textContent;
  }
  document.querySelectorAll("input[name=lang]").forEach(function (input) {
    input.addEventListener("change", speak);
  });
  speak();
  document.querySelectorAll(".save").forEach(function (list) {
    list.hidden = false;
  });
  document.querySelectorAll("button[data-raw]").forEach(function (button) {
    button.addEventListener("click", function () {
      var text = document.getElementById(button.dataset.raw).textContent;
      if (text[0] === '"') text = JSON.parse(text);
      var link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
      link.download = button.dataset.name;
      link.click();
      setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
    });
  });
})();
